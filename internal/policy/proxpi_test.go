package policy

import (
	"strconv"
	"testing"
	"time"
)

func TestProxpiEnvironment(t *testing.T) {
	env := ProxpiEnvironment(ProxpiParams{Proxy: "10.96.0.7:3128", CABundle: "/etc/zt/mirror/ca.crt"})
	for what, tc := range map[string]struct{ name, want string }{
		"its only index is the registry's":          {"PROXPI_INDEX_URL", "https://pypi.org/simple/"},
		"it reaches the registry through Squid":     {"HTTPS_PROXY", "http://10.96.0.7:3128"},
		"it trusts the CA of Squid's certificates":  {"REQUESTS_CA_BUNDLE", "/etc/zt/mirror/ca.crt"},
		"it stores where the pod has its volume":    {"PROXPI_CACHE_DIR", "/var/cache/proxpi"},
		"it has no second index":                    {"PROXPI_EXTRA_INDEX_URLS", ""},
		"it does not turn verification off":         {"PROXPI_DISABLE_INDEX_SSL_VERIFICATION", ""},
		"it does not turn its cache of files off":   {"PROXPI_CACHE_SIZE", ""},
		"nothing is exempt from the way over Squid": {"NO_PROXY", ""},
	} {
		if got := env[tc.name]; got != tc.want {
			t.Errorf("%s: %s is %q, want %q", what, tc.name, got, tc.want)
		}
	}
	for name, least := range map[string]time.Duration{
		// The largest admitted reply at half a MiB a second.
		"PROXPI_DOWNLOAD_TIMEOUT": 512 * time.Second,
		"PROXPI_INDEX_TTL":        24 * time.Hour,
		// read_timeout of squid.conf.
		"PROXPI_READ_TIMEOUT": 120 * time.Second,
	} {
		if seconds, err := strconv.Atoi(env[name]); err != nil || time.Duration(seconds)*time.Second < least {
			t.Errorf("%s is %q, want at least %s", name, env[name], least)
		}
	}
}
