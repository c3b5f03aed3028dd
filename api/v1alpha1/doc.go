// Package v1alpha1 is the API of the ZT operator: the ZTRun, ZTProfile and
// ProxyPolicy types, their condition types and the catalogue of reasons.
//
// It holds data and lookups only. Everything else may import it; it imports
// nothing of this module.
//
// +kubebuilder:object:generate=true
// +groupName=zt.ai-dossier.org
package v1alpha1
