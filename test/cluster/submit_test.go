//go:build cluster

package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cli/follow"
	"github.com/ai-dossier/zt-operator/internal/cli/gitbundle"
	"github.com/ai-dossier/zt-operator/internal/cli/submit"
)

const (
	fixture = "../../fixtures/ecosystem/npm"
	target  = "test/excerpt-emoji.test.js"
)

// repository is the demo's repository, made from a copy of the fixture that change
// may spoil first.
func repository(t *testing.T, change func(t *testing.T, base string)) string {
	t.Helper()
	return repositoryOf(t, fixture, change)
}

// repositoryOf is the same for another fixture.
func repositoryOf(t *testing.T, fixture string, change func(t *testing.T, base string)) string {
	t.Helper()
	source := t.TempDir()
	if err := os.CopyFS(source, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(t, filepath.Join(source, "base"))
	}
	dir := filepath.Join(t.TempDir(), "repository")
	if out, err := exec.Command("../../hack/demo/repository.sh", source, dir).CombinedOutput(); err != nil {
		t.Fatalf("make the repository: %v\n%s", err, out)
	}
	return dir
}

// request is the demo's submission under a name of its own.
func request(t *testing.T, dir string) submit.Request {
	t.Helper()
	repo, err := gitbundle.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	r := submit.Request{
		Name: "t-" + rand.String(6), Namespace: namespace, Profile: defaultName, Targets: []string{target},
	}
	for tag, into := range map[string]*string{"base": &r.Base, "regression-test": &r.RegressionTest, "fix": &r.Candidate} {
		if *into, err = repo.Resolve(t.Context(), tag); err != nil {
			t.Fatal(err)
		}
	}
	if r.Bundle, err = repo.Bundle(t.Context(), r.Base, r.RegressionTest, r.Candidate); err != nil {
		t.Fatal(err)
	}
	return r
}

// create submits a request and deletes the run when the test ends.
func create(t *testing.T, r submit.Request) *v1alpha1.ZTRun {
	t.Helper()
	cm, run, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	if err := submit.Create(t.Context(), kube, cm, run); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			explain(t, run)
		}
		remove(t, run)
	})
	return run
}

// explain logs what people would look at: the run as it ended, and what the parts that
// it went through say.
func explain(t *testing.T, run *v1alpha1.ZTRun) {
	for _, args := range [][]string{
		{"-n", run.Namespace, "get", "ztrun", run.Name, "-o", "yaml", "--show-managed-fields=false"},
		{"-n", "zt-system", "logs", "-l", "app.kubernetes.io/component=node-agent", "--tail=60"},
		{"-n", "zt-system", "logs", "-l", "app.kubernetes.io/component=operator", "--tail=60"},
		{"-n", "zt-system", "get", "pods"},
		{"get", "events", "-A", "--field-selector", "type=Warning", "--sort-by", ".lastTimestamp"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		out, err := exec.CommandContext(ctx, "kubectl", args...).CombinedOutput()
		cancel()
		t.Logf("kubectl %s (%v):\n%s", strings.Join(args, " "), err, out)
	}
}

// remove deletes the run and waits until it, and the bundle it owns, are gone.
func remove(t *testing.T, run *v1alpha1.ZTRun) {
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	if err := client.IgnoreNotFound(kube.Delete(ctx, run)); err != nil {
		t.Errorf("delete the run: %v", err)
	}
	eventually(t, ctx, "the run is gone", func() bool {
		return client.IgnoreNotFound(kube.Get(ctx, client.ObjectKeyFromObject(run), &v1alpha1.ZTRun{})) == nil &&
			kube.Get(ctx, client.ObjectKeyFromObject(run), &v1alpha1.ZTRun{}) != nil
	})
}

// finished follows a run to its end.
func finished(t *testing.T, run *v1alpha1.ZTRun, within time.Duration) *v1alpha1.ZTRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	f := &follow.Follower{Client: kube, Clock: clock.RealClock{}, Display: follow.NewPlain(logWriter{t})}
	final, err := f.Follow(ctx, client.ObjectKeyFromObject(run))
	if err != nil {
		t.Fatalf("the run did not complete within %s: %v", within, err)
	}
	return final
}

type logWriter struct{ t *testing.T }

func (w logWriter) Write(text []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(text), "\n"))
	return len(text), nil
}

func eventually(t *testing.T, ctx context.Context, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Errorf("gave up waiting until %s", what)
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}
