// Package proxyca makes the certificate authority that one attempt's Squid
// inspects TLS with. Only that attempt's mirror trusts it; the VM never sees it.
package proxyca
