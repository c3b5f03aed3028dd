package policy

import (
	"fmt"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// What Squid 6.13 logged for each of the faults in test/proxy.
func TestAFailedRequestHasAReason(t *testing.T) {
	inside := func(code, detail string) string {
		return line(`"rule":"allow_npm"`, `"rule":"-"`, `"result":"TCP_MISS","status":200`, `"result":"NONE_NONE","status":503`,
			`"err":"-","err_detail":"-"`, fmt.Sprintf(`"err":%q,"err_detail":%q`, code, detail))
	}
	answered := func(status int, code, detail string) string {
		return line(`"status":200`, fmt.Sprintf(`"status":%d`, status), `"err":"-","err_detail":"-"`, fmt.Sprintf(`"err":%q,"err_detail":%q`, code, detail))
	}
	for name, tc := range map[string]struct {
		entry string
		want  v1alpha1.Detail
	}{
		"no address":                         {inside("ERR_DNS_FAIL", "WITH_SERVER"), v1alpha1.DetailRegistryNameFailed},
		"no connection":                      {inside("ERR_CONNECT_FAIL", "WITH_SERVER"), v1alpha1.DetailRegistryUnreachable},
		"no way at all":                      {inside("ERR_CANNOT_FORWARD", "-"), v1alpha1.DetailRegistryUnreachable},
		"no TLS":                             {inside("ERR_SECURE_CONNECT_FAIL", "SQUID_TLS_ERR_CONNECT+TLS_LIB_ERR=A000438+TLS_IO_ERR=1"), v1alpha1.DetailRegistryTLSFailed},
		"a certificate of an unknown CA":     {inside("ERR_SECURE_CONNECT_FAIL", "X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT+broken_cert"), v1alpha1.DetailCertificateUntrusted},
		"a certificate that has expired":     {inside("ERR_SECURE_CONNECT_FAIL", "X509_V_ERR_CERT_HAS_EXPIRED+broken_cert"), v1alpha1.DetailCertificateUntrusted},
		"silence before the reply":           {answered(504, "ERR_READ_TIMEOUT", "WITH_SERVER"), v1alpha1.DetailRegistryTimedOut},
		"silence amid the reply":             {answered(200, "ERR_READ_TIMEOUT", "WITH_SERVER"), v1alpha1.DetailRegistryTimedOut},
		"the end before the reply":           {answered(0, "ERR_ZERO_SIZE_OBJECT", "WITH_SERVER"), v1alpha1.DetailRegistryReplyBroken},
		"the end amid the reply":             {answered(200, "ERR_READ_ERROR", "SRV_PREMATURE_EOF"), v1alpha1.DetailRegistryReplyBroken},
		"an error of the registry":           {answered(503, "-", "-"), v1alpha1.DetailRegistryError},
		"a registry that wants a pause":      {answered(429, "-", "-"), v1alpha1.DetailRegistryError},
		"something Squid has a new name for": {answered(502, "ERR_FROB", "-"), v1alpha1.DetailRegistryFailed},
		"a mirror that left":                 {answered(200, "ERR_CLIENT_GONE", "-"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			egress := parseLog(t, logStart+tc.entry)
			if egress.Failed != 1 {
				t.Fatalf("%+v, want one failed request", egress)
			}
			switch {
			case tc.want == "" && len(egress.Failures) == 0:
			case len(egress.Failures) != 1 || egress.Failures[0] != (v1alpha1.FailureCount{Reason: tc.want, Count: 1}):
				t.Errorf("failures are %v, want %q", egress.Failures, tc.want)
			default:
				if entry, ok := v1alpha1.Explain(tc.want); !ok || entry.Result != v1alpha1.ResultProvisioningFailed {
					t.Errorf("the catalogue says %+v of %s", entry, tc.want)
				}
			}
		})
	}
}

func TestTheMostFrequentFailureComesFirst(t *testing.T) {
	broken := line(`"err":"-"`, `"err":"ERR_READ_ERROR"`)
	slow := line(`"err":"-"`, `"err":"ERR_READ_TIMEOUT"`)
	got := parseLog(t, logStart+slow+broken+line()+broken).Failures
	want := []v1alpha1.FailureCount{{Reason: v1alpha1.DetailRegistryReplyBroken, Count: 2}, {Reason: v1alpha1.DetailRegistryTimedOut, Count: 1}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
