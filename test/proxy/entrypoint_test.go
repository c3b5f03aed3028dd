//go:build proxy

package proxy

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/policy"
	"github.com/ai-dossier/zt-operator/internal/proxyca"
)

// refused is the exit code of a configuration that is not to be run.
const refused = 78

func TestTheEntryPointRefusesWhatSquidComplainsAbout(t *testing.T) {
	top := newTopology(t)
	valid, err := policy.RenderSquid(policy.Default(), policy.SquidParams{MirrorIP: mirrorIP})
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM, err := proxyca.New(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := string(certPEM) + string(keyPEM)
	for name, tc := range map[string]struct{ config, ca, says string }{
		"a pattern that does not compile":  {valid + "acl bad urlpath_regex ^/(a$\n", ca, "Unmatched"},
		"a directive that does not exist":  {valid + "no_such_directive on\n", ca, "no_such_directive"},
		"a range inside another":           {valid + "acl forbidden_dst dst 10.1.0.0/16\n", ca, "10.1.0.0/16"},
		"a setting that Squid warns about": {valid + "via off\n", ca, "Via"},
		"a certificate without its key":    {valid, string(certPEM), "ca.pem"},
		"no configuration":                 {"", ca, "squid.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &squid{dir: squidDir(t)}
			config := strings.NewReplacer("/etc/zt/squid", s.dir+"/conf", "/run/squid", s.dir+"/run").Replace(tc.config)
			if config != "" {
				s.write(t, "conf/squid.conf", []byte(config))
			}
			s.write(t, "conf/ca.pem", []byte(tc.ca))
			cmd := s.command(top.squid)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != refused {
				t.Errorf("ended with %v, want exit code %d", err, refused)
			}
			if !strings.Contains(stderr.String(), "refused to start") || !strings.Contains(stderr.String(), tc.says) {
				t.Errorf("it does not say why: %q", stderr.String())
			}
			if stdout.Len() > 0 {
				t.Errorf("it wrote a log: %q", stdout.String())
			}
		})
	}
}
