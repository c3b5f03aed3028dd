package follow

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// recorder keeps the phase and elapsed time of everything shown.
type recorder struct {
	mu    sync.Mutex
	shown []line
	each  func(line)
}

func (r *recorder) Show(run *v1alpha1.ZTRun, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := describe(run, now)
	r.shown = append(r.shown, l)
	if r.each != nil {
		r.each(l)
	}
}

func (r *recorder) Close() {}

func (r *recorder) has(want line) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.shown, func(l line) bool { return l.phase == want.phase && l.elapsed == want.elapsed })
}

type world struct {
	client   client.WithWatch
	clock    *clocktesting.FakeClock
	recorder *recorder
	result   chan result
}

type result struct {
	run *v1alpha1.ZTRun
	err error
}

var key = client.ObjectKey{Namespace: "team-a", Name: "fix"}

func startFollowing(t *testing.T, ctx context.Context, funcs interceptor.Funcs, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
			WithStatusSubresource(&v1alpha1.ZTRun{}).WithInterceptorFuncs(funcs).Build(),
		clock: clocktesting.NewFakeClock(start), recorder: &recorder{}, result: make(chan result, 1),
	}
	f := &Follower{Client: w.client, Clock: w.clock, Display: w.recorder}
	go func() {
		run, err := f.Follow(ctx, key)
		w.result <- result{run, err}
	}()
	return w
}

// eventually advances the fake clock until the condition holds.
func (w *world) eventually(t *testing.T, step time.Duration, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("did not happen within 10 s")
		}
		w.clock.Step(step)
		time.Sleep(time.Millisecond)
	}
}

func (w *world) done(into *result) func() bool {
	return func() bool {
		select {
		case *into = <-w.result:
			return true
		default:
			return false
		}
	}
}

func (w *world) update(t *testing.T, change func(*v1alpha1.ZTRunStatus)) {
	t.Helper()
	run := &v1alpha1.ZTRun{}
	if err := w.client.Get(t.Context(), key, run); err != nil {
		t.Fatal(err)
	}
	change(&run.Status)
	if err := w.client.Status().Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

func complete(s *v1alpha1.ZTRunStatus) {
	s.Phase = v1alpha1.PhaseComplete
	meta.SetStatusCondition(&s.Conditions, condition(v1alpha1.ConditionComplete, metav1.ConditionTrue, "done"))
}

func TestFollowShowsElapsedTimeAndEndsWithTheRun(t *testing.T) {
	w := startFollowing(t, t.Context(), interceptor.Funcs{}, newRun())
	w.eventually(t, 0, func() bool { return w.recorder.has(line{phase: "Pending"}) })
	w.eventually(t, tick, func() bool { return w.recorder.has(line{phase: "Pending", elapsed: 2 * time.Second}) })
	w.update(t, func(s *v1alpha1.ZTRunStatus) { s.Phase = v1alpha1.PhaseRunning })
	w.eventually(t, 0, func() bool {
		w.recorder.mu.Lock()
		defer w.recorder.mu.Unlock()
		return w.recorder.shown[len(w.recorder.shown)-1].phase == "Running"
	})
	w.update(t, complete)
	var got result
	w.eventually(t, 0, w.done(&got))
	if got.err != nil || got.run.Status.Phase != v1alpha1.PhaseComplete {
		t.Errorf("Follow = %v, %v", got.run, got.err)
	}
}

func TestFollowNoticesCompletionWithoutAnyWatchEvent(t *testing.T) {
	silent := interceptor.Funcs{Watch: func(ctx context.Context, c client.WithWatch, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
		return c.Watch(ctx, &v1alpha1.ZTProfileList{})
	}}
	w := startFollowing(t, t.Context(), silent, newRun())
	w.eventually(t, 0, func() bool { return w.recorder.has(line{phase: "Pending"}) })
	w.update(t, complete)
	var got result
	w.eventually(t, tick, w.done(&got))
	if got.err != nil {
		t.Errorf("Follow: %v", got.err)
	}
	if waited := w.clock.Since(start); waited < rewatch {
		t.Errorf("ended after %s, before the watch was given up: the silent watch was not silent", waited)
	}
}

func TestFollowEnds(t *testing.T) {
	injected := errors.New("connection refused")
	forbidden := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("ztruns").GroupResource(), "fix", nil)
	failGet := func(err error) interceptor.Funcs {
		return interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		}}
	}
	for name, tc := range map[string]struct {
		funcs   interceptor.Funcs
		objects []client.Object
		after   func(*testing.T, *world, context.CancelCauseFunc)
		want    error
		atLeast time.Duration
	}{
		"with an error if there is no such run":         {want: nil},
		"with an error at once if reading is forbidden": {funcs: failGet(forbidden), want: forbidden},
		"with an error if the API server stays away":    {funcs: failGet(injected), want: injected, atLeast: giveUp},
		"with ErrDeleted if the run is deleted": {objects: []client.Object{newRun()}, want: ErrDeleted,
			after: func(t *testing.T, w *world, _ context.CancelCauseFunc) {
				if err := w.client.Delete(t.Context(), newRun()); err != nil {
					t.Fatal(err)
				}
			}},
		"with the context's cause": {objects: []client.Object{newRun()}, want: injected,
			after: func(_ *testing.T, _ *world, cancel context.CancelCauseFunc) { cancel(injected) }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			w := startFollowing(t, ctx, tc.funcs, tc.objects...)
			if tc.after != nil {
				w.eventually(t, 0, func() bool { return w.recorder.has(line{phase: "Pending"}) })
				tc.after(t, w, cancel)
			}
			var got result
			w.eventually(t, tick, w.done(&got))
			if got.err == nil || (tc.want != nil && !errors.Is(got.err, tc.want)) {
				t.Errorf("Follow: %v, want %v", got.err, tc.want)
			}
			if tc.want == nil && !apierrors.IsNotFound(got.err) {
				t.Errorf("Follow: %v, want not found", got.err)
			}
			if waited := w.clock.Since(start); waited < tc.atLeast {
				t.Errorf("gave up after %s, want at least %s", waited, tc.atLeast)
			}
		})
	}
}

func TestFollowSurvivesAnAPIServerThatRestarts(t *testing.T) {
	failures := 5
	flaky := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
		if failures--; failures >= 0 {
			return errors.New("connection refused")
		}
		return c.Get(ctx, key, obj, opts...)
	}}
	run := newRun()
	complete(&run.Status)
	w := startFollowing(t, t.Context(), flaky, run)
	var got result
	w.eventually(t, tick, w.done(&got))
	if got.err != nil {
		t.Errorf("Follow: %v", got.err)
	}
}
