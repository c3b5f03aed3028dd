package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// plugin is kubectl-zt with a fake cluster behind it and a real repository at hand.
type plugin struct {
	app         *app
	out, errOut *bytes.Buffer
	repo        string
	client      client.WithWatch
}

// newPlugin makes a plug-in whose cluster answers each new run with an outcome; a
// nil outcome leaves the run unanswered.
func newPlugin(t *testing.T, outcome *v1alpha1.Outcome) *plugin {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	p := &plugin{out: out, errOut: errOut, repo: threeCommits(t)}
	p.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.ZTRun{}).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := c.Create(ctx, obj, opts...); err != nil {
				return err
			}
			run, ok := obj.(*v1alpha1.ZTRun)
			if !ok || outcome == nil {
				return nil
			}
			answered := run.DeepCopy()
			answered.Status.Outcome = outcome
			meta.SetStatusCondition(&answered.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: "Done"})
			return c.Status().Update(ctx, answered)
		}}).Build()
	flags := genericclioptions.NewConfigFlags(true)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	flags.KubeConfig = &kubeconfig
	p.app = &app{IOStreams: streams, flags: flags, clock: clock.RealClock{},
		client: func() (client.WithWatch, error) { return p.client, nil }}
	if err := os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// threeCommits is a repository with the tags base, test and fix.
func threeCommits(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	gitIn(t, dir, "init", "--quiet")
	commitFile(t, dir, "base", "index.js")
	commitFile(t, dir, "test", "test/bug.test.js")
	commitFile(t, dir, "fix", "fix.js")
	return dir
}

func commitFile(t *testing.T, dir, tag, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(tag), 0o644); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "--quiet", "-m", tag)
	gitIn(t, dir, "tag", tag)
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// run runs kubectl zt run with the repository's tags, then the further arguments,
// which win over the earlier ones.
func (p *plugin) run(ctx context.Context, args ...string) int {
	return p.app.main(ctx, append([]string{"run", "-n", "team-a", "--repo", p.repo, "--name", "fix",
		"--base", "base", "--regression-test", "test", "--candidate", "fix", "--target", "test/bug.test.js"}, args...))
}

func TestExitCodesFollowTheVerdict(t *testing.T) {
	for result, want := range map[v1alpha1.Result]int{
		v1alpha1.ResultReproducedAndFixed:     0,
		v1alpha1.ResultNotReproduced:          1,
		v1alpha1.ResultNotFixed:               1,
		v1alpha1.ResultRegressed:              1,
		v1alpha1.ResultInconclusive:           1,
		v1alpha1.ResultUnsupportedEnvironment: 2,
		v1alpha1.ResultInvalidSource:          2,
		v1alpha1.ResultNotAdmitted:            2,
		v1alpha1.ResultProvisioningFailed:     2,
		v1alpha1.ResultExecutionFailed:        2,
	} {
		t.Run(string(result), func(t *testing.T) {
			p := newPlugin(t, &v1alpha1.Outcome{Result: result, Detail: "because", Message: "and so on"})
			if got := p.run(t.Context()); got != want {
				t.Errorf("exit code = %d, want %d\n%s", got, want, p.errOut)
			}
			if !strings.Contains(p.out.String(), "ztrun team-a/fix: "+string(result)+" (because)") {
				t.Errorf("printed %q", p.out)
			}
			if got := p.app.main(t.Context(), []string{"watch", "-n", "team-a", "fix"}); got != want {
				t.Errorf("watch: exit code = %d, want %d", got, want)
			}
		})
	}
}

func TestRunSubmitsWhatWasAsked(t *testing.T) {
	p := newPlugin(t, nil)
	if got := p.run(t.Context(), "--profile", "small", "--policy", "strict", "--ttl", "60", "--wait=false", "-o", "json"); got != 0 {
		t.Fatalf("exit code = %d\n%s", got, p.errOut)
	}
	var run v1alpha1.ZTRun
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "fix"}, &run); err != nil {
		t.Fatal(err)
	}
	spec := run.Spec
	for what, pair := range map[string][2]string{
		"base":            {spec.Proof.Base.Commit, gitIn(t, p.repo, "rev-parse", "base")},
		"regression test": {spec.Proof.RegressionTest.Commit, gitIn(t, p.repo, "rev-parse", "test")},
		"candidate":       {spec.Proof.Candidate.Commit, gitIn(t, p.repo, "rev-parse", "fix")},
		"target":          {string(spec.Proof.Targets[0]), "test/bug.test.js"},
		"profile":         {spec.ProfileRef.Name, "small"},
		"policy":          {spec.PolicyRef.Name, "strict"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s = %q, want %q", what, pair[0], pair[1])
		}
	}
	if spec.TTLSecondsAfterFinished == nil || *spec.TTLSecondsAfterFinished != 60 {
		t.Errorf("ttl = %v, want 60", spec.TTLSecondsAfterFinished)
	}
	if !strings.Contains(p.out.String(), `"kind": "ZTRun"`) {
		t.Errorf("-o json printed %q", p.out)
	}
}

func TestRunRefusesBeforeAnythingIsSent(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a revision that is not there":          {[]string{"--candidate", "nonesuch"}, `--candidate: "nonesuch" names no commit`},
		"base and test being the same commit":   {[]string{"--regression-test", "base"}, "--base and --regression-test are both"},
		"test and fix being the same commit":    {[]string{"--candidate", "test"}, "--regression-test and --candidate are both"},
		"a target that no commit has":           {[]string{"--target", "test/other.test.js"}, `no file "test/other.test.js" in`},
		"a folder that is no repository":        {[]string{"--repo", os.TempDir()}, "not a git repository"},
		"a name that Kubernetes would not take": {[]string{"--name", "Fix_1"}, `--name is "Fix_1"`},
		"a flag that does not exist":            {[]string{"--nonesuch"}, "unknown flag"},
		"a dry run that does not exist":         {[]string{"--dry-run=server"}, `--dry-run is "server", expected none or client`},
		"an argument where none belongs":        {[]string{"extra"}, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlugin(t, nil)
			p.client = interceptor.NewClient(p.client, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				t.Error("something was created")
				return nil
			}})
			if got := p.run(t.Context(), tc.args...); got != ExitUsageOrTimeout {
				t.Errorf("exit code = %d, want %d", got, ExitUsageOrTimeout)
			}
			if !strings.Contains(p.errOut.String(), tc.want) {
				t.Errorf("said %q, want %q", p.errOut, tc.want)
			}
		})
	}
}

func TestDryRunPrintsAManifestToApply(t *testing.T) {
	p := newPlugin(t, nil)
	p.app.client = func() (client.WithWatch, error) { return nil, errors.New("a dry run needs no cluster") }
	if got := p.run(t.Context(), "--dry-run"); got != 0 {
		t.Fatalf("exit code = %d\n%s", got, p.errOut)
	}
	documents := strings.Split(p.out.String(), "---\n")
	if len(documents) != 2 {
		t.Fatalf("printed %d documents:\n%s", len(documents), p.out)
	}
	var cm corev1.ConfigMap
	var run v1alpha1.ZTRun
	if err := errors.Join(yaml.UnmarshalStrict([]byte(documents[0]), &cm), yaml.UnmarshalStrict([]byte(documents[1]), &run)); err != nil {
		t.Fatal(err)
	}
	if cm.Kind != "ConfigMap" || run.Kind != "ZTRun" || run.Spec.Source.Bundle.ConfigMapRef.Name != cm.Name {
		t.Errorf("printed\n%s", p.out)
	}
	if strings.Contains(p.out.String(), "status") || strings.Contains(p.out.String(), "creationTimestamp") {
		t.Errorf("the manifest has fields that only a server fills in:\n%s", documents[1])
	}
}

func TestTheWaitEndsBeforeTheRun(t *testing.T) {
	for name, tc := range map[string]struct {
		args      []string
		interrupt bool
		want      string
	}{
		"by --timeout":    {[]string{"--timeout", "50ms"}, false, "timed out waiting for the run after 50ms"},
		"by an interrupt": {nil, true, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlugin(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.interrupt {
				p.client = interceptor.NewClient(p.client, interceptor.Funcs{Watch: func(
					ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption,
				) (watch.Interface, error) {
					defer cancel()
					return c.Watch(ctx, list, opts...)
				}})
			}
			if got := p.run(ctx, tc.args...); got != ExitUsageOrTimeout {
				t.Errorf("exit code = %d, want %d", got, ExitUsageOrTimeout)
			}
			for _, want := range []string{tc.want, "kubectl zt watch -n team-a fix"} {
				if !strings.Contains(p.errOut.String(), want) {
					t.Errorf("said %q, want %q", p.errOut, want)
				}
			}
		})
	}
}

func TestARefusalByTheAPIServerIsAFailure(t *testing.T) {
	p := newPlugin(t, nil)
	p.client = interceptor.NewClient(p.client, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return apierrors.NewForbidden(corev1.Resource("configmaps"), "fix-source", errors.New("no rights"))
	}})
	if got := p.run(t.Context()); got != ExitRefusedOrFailed {
		t.Errorf("exit code = %d, want %d", got, ExitRefusedOrFailed)
	}
	if !strings.Contains(p.errOut.String(), "no rights") {
		t.Errorf("said %q", p.errOut)
	}
}
