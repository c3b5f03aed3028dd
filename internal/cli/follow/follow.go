package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const (
	// tick is how often the elapsed time is shown anew.
	tick = time.Second
	// rewatch is how long one watch is trusted: a connection that died without a
	// word would else show a run as unfinished for ever.
	rewatch = 30 * time.Second
	// retry is the wait after a failed request.
	retry = 2 * time.Second
	// giveUp is how long the API server may fail in a row.
	giveUp = 2 * time.Minute
)

// ErrDeleted says that the run was deleted while it was followed.
var ErrDeleted = errors.New("the run was deleted")

// Follower follows runs.
type Follower struct {
	Client  client.WithWatch
	Clock   clock.WithTicker
	Display Display
}

// Follow returns the run once it is complete or paused. It ends early with ctx, with
// ErrDeleted, or if the API server fails for two minutes.
func (f *Follower) Follow(ctx context.Context, key client.ObjectKey) (*v1alpha1.ZTRun, error) {
	defer f.Display.Close()
	var failing time.Time
	seen := false
	for {
		run, err := f.observe(ctx, key)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && still(run):
			return run, nil
		case err == nil:
			seen, failing = true, time.Time{}
			continue
		case apierrors.IsNotFound(err) && seen:
			return nil, ErrDeleted
		case !passing(err):
			return nil, fmt.Errorf("get ztrun %s: %w", key, err)
		}
		if failing.IsZero() {
			failing = f.Clock.Now()
		}
		if f.Clock.Since(failing) > giveUp {
			return nil, fmt.Errorf("the API server has not answered for %s: %w", giveUp, err)
		}
		f.sleep(ctx, retry)
	}
}

// observe gets the run and watches it until it is still or the watch has ended.
func (f *Follower) observe(ctx context.Context, key client.ObjectKey) (*v1alpha1.ZTRun, error) {
	run := &v1alpha1.ZTRun{}
	if err := f.Client.Get(ctx, key, run); err != nil {
		return nil, err
	}
	f.Display.Show(run, f.Clock.Now())
	if still(run) {
		return run, nil
	}
	w, err := f.Client.Watch(ctx, &v1alpha1.ZTRunList{}, &client.ListOptions{
		Namespace:     key.Namespace,
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name),
		Raw:           &metav1.ListOptions{ResourceVersion: run.ResourceVersion},
	})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	return f.drain(ctx, w, run)
}

// drain shows the watch's events and returns the last state seen.
func (f *Follower) drain(ctx context.Context, w watch.Interface, run *v1alpha1.ZTRun) (*v1alpha1.ZTRun, error) {
	ticker := f.Clock.NewTicker(tick)
	defer ticker.Stop()
	end := f.Clock.NewTimer(rewatch)
	defer end.Stop()
	for !still(run) {
		select {
		case <-ctx.Done():
			return run, ctx.Err()
		case <-end.C():
			return run, nil
		case <-ticker.C():
		case event, open := <-w.ResultChan():
			if !open || event.Type == watch.Error {
				// A server that ends every watch at once is not asked in a loop.
				f.sleep(ctx, retry/4)
				return run, nil
			}
			next, ok := event.Object.(*v1alpha1.ZTRun)
			if !ok || next.Name != run.Name {
				continue
			}
			run = next
			if event.Type == watch.Deleted {
				return run, nil
			}
		}
		f.Display.Show(run, f.Clock.Now())
	}
	return run, nil
}

func (f *Follower) sleep(ctx context.Context, d time.Duration) {
	timer := f.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// passing reports whether a request may succeed when it is made again: it failed
// on the way, or the server said so.
func passing(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return true
	}
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}
