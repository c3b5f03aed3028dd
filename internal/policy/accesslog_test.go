package policy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const logStart = `{"v":1,"start":"6.13"}` + "\n"

// line is an entry of an admitted request with some fields replaced.
func line(replace ...string) string {
	text := `{"v":1,"t":1796071307.948,"ms":1,"src":"10.0.0.7","port":4711,"method":"GET","url":"https://registry.npmjs.org/semver",` +
		`"result":"TCP_MISS","status":200,"up_status":"200","reply_bytes":1240,"reply_headers":240,"dst":"192.0.2.1","bump":"bump",` +
		`"sni":"registry.npmjs.org","rule":"allow_npm","err":"-","err_detail":"-","location":"-"}` + "\n"
	return strings.NewReplacer(replace...).Replace(text)
}

func parseLog(t *testing.T, text string) v1alpha1.EgressStatus {
	t.Helper()
	egress, err := ParseAccessLog(strings.NewReader(text), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return egress
}

func TestAnEntryIsClassified(t *testing.T) {
	const (
		rule    = `"rule":"allow_npm"`
		noRule  = `"rule":"-"`
		get     = `"method":"GET"`
		connect = `"method":"CONNECT"`
		hit     = `"result":"TCP_MISS","status":200`
		noError = `"err":"-","err_detail":"-"`
		bytes   = `"reply_bytes":1240`
	)
	for name, tc := range map[string]struct{ entry, want string }{
		"an admitted request":                     {line(), "admitted allow_npm"},
		"a request the mirror had in its cache":   {line(hit, `"result":"TCP_MISS","status":304`), "admitted allow_npm"},
		"a package the registry does not have":    {line(hit, `"result":"TCP_MISS","status":404`), "admitted allow_npm"},
		"a denied path":                           {line(rule, `"rule":"path_not_allowed"`, hit, `"result":"TCP_DENIED","status":403`), "denied path_not_allowed"},
		"a denied redirect":                       {line(rule, `"rule":"redirect_reply"`, hit, `"result":"TCP_DENIED_REPLY","status":403`), "denied redirect_reply"},
		"an admitted tunnel is no request":        {line(get, connect, rule, `"rule":"connect_allowed"`), "ignored"},
		"a denied tunnel":                         {line(get, connect, rule, `"rule":"host_not_allowed"`, hit, `"result":"TCP_DENIED","status":200`), "denied host_not_allowed"},
		"the error page of a denied tunnel":       {line(rule, noRule, hit, `"result":"NONE_NONE","status":403`, noError, `"err":"ERR_ACCESS_DENIED","err_detail":"-"`), "ignored"},
		"a terminated tunnel":                     {line(get, connect, rule, `"rule":"sni_not_allowed"`, `"bump":"bump"`, `"bump":"terminate"`), "denied sni_not_allowed"},
		"no TLS in the tunnel":                    {line(get, connect, rule, `"rule":"connect_allowed"`, noError, `"err":"ERR_PROTOCOL_UNKNOWN","err_detail":"-"`), "denied malformed_request"},
		"a host that is not the tunnel's":         {line(rule, noRule, hit, `"result":"NONE_NONE","status":503`, noError, `"err":"ERR_SECURE_CONNECT_FAIL","err_detail":"SQUID_X509_V_ERR_DOMAIN_MISMATCH+broken_cert"`), "denied host_mismatch"},
		"an untrusted registry":                   {line(rule, noRule, hit, `"result":"NONE_NONE","status":503`, noError, `"err":"ERR_SECURE_CONNECT_FAIL","err_detail":"X509_V_ERR_CERT_HAS_EXPIRED"`), "failed upstream_failed"},
		"a registry that answers 502":             {line(hit, `"result":"TCP_MISS","status":502`), "failed allow_npm"},
		"a registry that asks to come back later": {line(hit, `"result":"TCP_MISS","status":429`), "failed allow_npm"},
		"a registry that ends early":              {line(hit, `"result":"TCP_MISS_ABORTED","status":0`, noError, `"err":"ERR_ZERO_SIZE_OBJECT","err_detail":"WITH_SERVER"`), "failed allow_npm"},
		"a body that is too large":                {line(hit, `"result":"TCP_DENIED_REPLY","status":403`, noError, `"err":"ERR_TOO_BIG","err_detail":"-"`), "denied response_too_large"},
		"a chunked body that was cut":             {line(bytes, `"reply_bytes":268960000`), "denied response_too_large"},
		"a body of exactly the limit":             {line(bytes, `"reply_bytes":268435696`), "admitted allow_npm"},
		"a body without its length":               {line(rule, noRule, hit, `"result":"NONE_NONE","status":411`), "denied malformed_request"},
		"headers that are too large":              {line(rule, noRule, hit, `"result":"NONE_NONE","status":431`), "denied malformed_request"},
		"a readiness probe":                       {line(get, `"method":"-"`, `https://registry.npmjs.org/semver`, `error:transaction-end-before-headers`, rule, noRule), "ignored"},
		"a URL with raw control bytes":            {line("semver", "se\x01\x7fm\xffver"), "admitted allow_npm"},
		"a rule with an endless name":             {line("allow_npm", "allow_"+strings.Repeat("x", 80)), "unreadable"},
		"a rule that is no name":                  {line("allow_npm", "allow npm"), "unreadable"},
		"another version":                         {line(`"v":1`, `"v":2`), "unreadable"},
		"a line cut in the middle":                {line()[:200] + "\n", "unreadable"},
		"a number that is none":                   {line(bytes, `"reply_bytes":1e999`), "unreadable"},
		"a message of the container":              {"squid: ended with code 0\n", "ignored"},
		"an empty line":                           {"\n", "ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			egress := parseLog(t, logStart+tc.entry)
			if got := outcome(egress); got != tc.want {
				t.Errorf("%s, want %s: %+v", got, tc.want, egress)
			}
			if egress.Truncated {
				t.Error("the log counts as truncated")
			}
		})
	}
}

func outcome(e v1alpha1.EgressStatus) string {
	switch {
	case len(e.Rules) == 0:
		return "ignored"
	case e.Rules[0].Rule == ruleUnreadable:
		return "unreadable"
	case e.Admitted == 1:
		return "admitted " + e.Rules[0].Rule
	case e.Denied == 1:
		return "denied " + e.Rules[0].Rule
	case e.Failed == 1:
		return "failed " + e.Rules[0].Rule
	}
	return "nothing"
}

func once(reasons ...v1alpha1.Detail) (counts []v1alpha1.FailureCount) {
	for _, reason := range reasons {
		counts = append(counts, v1alpha1.FailureCount{Reason: reason, Count: 1})
	}
	return counts
}

// The logs were written by test/proxy: one entry or more for each of its rows.
func TestRealLogsAreSummedUp(t *testing.T) {
	for name, want := range map[string]v1alpha1.EgressStatus{
		"squid-5.log": {Admitted: 18, Denied: 75, Failed: 2, Redirects: 4, Bytes: 537587635, Failures: once(v1alpha1.DetailCertificateUntrusted, v1alpha1.DetailRegistryReplyBroken)},
		"squid-6.log": {Admitted: 17, Denied: 76, Failed: 2, Redirects: 4, Bytes: 537583712, Failures: once(v1alpha1.DetailCertificateUntrusted, v1alpha1.DetailRegistryNameFailed)},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			got, err := ParseAccessLog(file, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			rules, hosts := got.Rules, got.Hosts
			if len(got.Log) != int(want.Admitted)+maxExcerpt+int(want.Failed) {
				t.Errorf("%d lines in the excerpt", len(got.Log))
			}
			got.Rules, got.Hosts, got.Log, got.LogDigest = nil, nil, nil, ""
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v, want %+v", got, want)
			}
			if len(rules) != 21 || rules[0].Rule != "allow_npm" || rules[1] != (v1alpha1.RuleCount{Rule: RulePath, Count: 12}) {
				t.Errorf("rules are %v", rules)
			}
			if hosts[0] != (v1alpha1.HostCount{Host: "registry.npmjs.org", Count: 59}) {
				t.Errorf("hosts are %v", hosts)
			}
		})
	}
}

func TestTheExcerptShowsEachClassUpToItsBound(t *testing.T) {
	denial := line("allow_npm", "path_not_allowed", "TCP_MISS", "TCP_DENIED", `"status":200`, `"status":403`, "/semver", "/\x1b[2J"+strings.Repeat("x", 999))
	log := logStart + strings.Repeat(line(), 2*maxExcerpt) + denial
	got := parseLog(t, log)
	if len(got.Log) != maxExcerpt+1 || got.Log[0] != "admitted: TCP_MISS 200 by allow_npm, 1240 bytes, GET https://registry.npmjs.org/semver" {
		t.Fatalf("%d lines, the first %q", len(got.Log), got.Log[0])
	}
	last := got.Log[maxExcerpt]
	if !strings.HasPrefix(last, "denied: TCP_DENIED 403 by path_not_allowed, ") || len(last) > maxExcerptLine || strings.Contains(last, "\x1b") {
		t.Errorf("the denied request is shown as %q", last)
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(log))); got.LogDigest != want {
		t.Errorf("digest %s, want %s", got.LogDigest, want)
	}
}

func TestALogThatIsNotWholeIsTruncated(t *testing.T) {
	long := logStart + strings.Repeat(line(), 10)
	for name, tc := range map[string]struct {
		log       string
		limit     int64
		truncated bool
		admitted  int64
	}{
		"a whole log":                   {long, int64(len(long)), false, 10},
		"a log over the limit":          {long, int64(len(long)) - 2, true, 9},
		"a log without its beginning":   {long[len(logStart):], 1 << 20, true, 10},
		"a last line still written":     {long + line()[:100], 1 << 20, false, 10},
		"a line longer than any entry":  {logStart + `{"v":` + strings.Repeat("x", 2*maxEntryBytes) + "\n" + line(), 1 << 20, false, 1},
		"an endless line until the end": {logStart + line() + `{"v":` + strings.Repeat("x", 2*maxEntryBytes), 1 << 20, false, 1},
		"an empty log":                  {"", 1 << 20, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			egress, err := ParseAccessLog(strings.NewReader(tc.log), tc.limit)
			if err != nil || egress.Truncated != tc.truncated || egress.Admitted != tc.admitted {
				t.Errorf("%+v, %v; want truncated %v, %d admitted", egress, err, tc.truncated, tc.admitted)
			}
		})
	}
}

func TestWhatWasReadBeforeAnErrorIsReturned(t *testing.T) {
	broken := errors.New("connection lost")
	egress, err := ParseAccessLog(io.MultiReader(strings.NewReader(logStart+line()), iotest.ErrReader(broken)), 1<<20)
	if !errors.Is(err, broken) || egress.Admitted != 1 {
		t.Errorf("%+v, %v", egress, err)
	}
}

func TestTheSummaryOfInventedHostsIsBounded(t *testing.T) {
	var log strings.Builder
	log.WriteString(logStart)
	for i := range 3 * maxKeys {
		log.WriteString(line("registry.npmjs.org/semver", fmt.Sprintf("h%d.test/x", i), "allow_npm", fmt.Sprintf("invented_%d", i)))
	}
	egress, err := ParseAccessLog(strings.NewReader(log.String()), 64<<20)
	if err != nil || egress.Denied != 3*maxKeys {
		t.Fatalf("%d denied, %v", egress.Denied, err)
	}
	if len(egress.Hosts) != maxListed || len(egress.Rules) != maxListed {
		t.Errorf("%d hosts, %d rules", len(egress.Hosts), len(egress.Rules))
	}
}

func FuzzParseAccessLog(f *testing.F) {
	f.Add([]byte(logStart+line()), int64(4096))
	f.Add([]byte(line("semver", "\x00\xff\u202e", "200", "-1")), int64(300))
	f.Fuzz(func(t *testing.T, log []byte, limit int64) {
		egress, err := ParseAccessLog(strings.NewReader(string(log)), limit&0xfffff)
		if err != nil {
			t.Fatal(err)
		}
		if egress.Admitted < 0 || egress.Bytes < 0 || len(egress.Rules) > maxListed || len(egress.Hosts) > maxListed || len(egress.Log) > 3*maxExcerpt {
			t.Errorf("%+v", egress)
		}
		for _, rule := range egress.Rules {
			if !loggedRule.MatchString(rule.Rule) || rule.Count <= 0 {
				t.Errorf("rule %q %d", rule.Rule, rule.Count)
			}
		}
		for _, host := range egress.Hosts {
			if !hostName.MatchString(host.Host) || len(host.Host) > 253 {
				t.Errorf("host %q", host.Host)
			}
		}
	})
}
