package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
	"github.com/ai-dossier/zt-operator/internal/runtimes"
	"github.com/ai-dossier/zt-operator/nodeagent/engine"
	"github.com/ai-dossier/zt-operator/nodeagent/safepath"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// session is one attempt of one run on this node, from the first byte of its
// source until nothing of it is left.
type session struct {
	host     *Host
	log      logr.Logger
	key      types.NamespacedName
	uid      types.UID
	attempt  int32
	firstUID uint32
	name     string
	view     *view
	record   *engine.Record
	cancel   context.CancelCauseFunc

	dir    *safepath.Dir
	pod    Pod
	source *source.Source
	// selected is the runtime this attempt came to.
	selected *v1alpha1.RuntimeRecord
	locks    map[v1alpha1.TreeName]*lockindex.Index
}

// uidsPerSession are one user id for the source reader, and one for each tree's VM.
const uidsPerSession = 1 + uint32(len(engine.TreeOrder))

// vmUIDs are the user ids of the session's VMs, in the order of the trees.
func (s *session) vmUIDs() (uids [len(engine.TreeOrder)]uint32) {
	for i := range uids {
		uids[i] = s.firstUID + 1 + uint32(i)
	}
	return uids
}

func newSession(host *Host, log logr.Logger, run *v1alpha1.ZTRun, slot int, cancel context.CancelCauseFunc) *session {
	now := metav1.NewTime(host.Engine.Clock.Now())
	record := v1alpha1.ExecutionStatus{
		Attempt: run.Status.Attempt, State: v1alpha1.ExecutionReadingSource, StartedAt: &now,
		Activity: "reading the source",
	}
	if taken(run) {
		record = *run.Status.Execution.DeepCopy()
	}
	return &session{
		host: host, log: log, key: keyOf(run), uid: run.UID, attempt: run.Status.Attempt, cancel: cancel,
		firstUID: host.FirstVMUID + uint32(slot)*uidsPerSession,
		name:     strconv.Itoa(slot),
		view:     newView(run), record: engine.NewRecord(record),
	}
}

// run works, cleans up, and publishes all the way.
func (s *session) run(ctx context.Context, work func(*session, context.Context) error) {
	s.log.Info("attempt started")
	stopPublishing := s.host.publish(s)
	err := work(s, ctx)
	cleanErr := s.clean()
	s.finish(ctx, err, cleanErr)
	stopPublishing()
	s.log.Info("attempt finished", "err", errText(err), "cleanErr", errText(cleanErr))
}

func (s *session) finish(ctx context.Context, err, cleanErr error) {
	now := metav1.NewTime(s.host.Engine.Clock.Now())
	s.record.Update(func(e *v1alpha1.ExecutionStatus) {
		e.State, e.Activity, e.FinishedAt = v1alpha1.ExecutionFinished, "", &now
		e.Cleaned = cleanErr == nil
		if err != nil && e.Failure == nil {
			outcome := engine.OutcomeOf(ctx, err)
			e.Failure = &outcome
		}
	})
}

// execute is the work of an attempt that starts from scratch.
func (s *session) execute(ctx context.Context) error {
	run, _ := s.view.get()
	baked, release, err := s.host.Profiles.Use(run.Spec.ProfileRef.Name)
	if err != nil {
		return err
	}
	defer release()
	if err := s.host.Images.Verify(baked.Manifest); err != nil {
		return fmt.Errorf("verifying the images of profile %s: %w", run.Spec.ProfileRef.Name, err)
	}
	limits := baked.Spec.Limits
	ctx, cancel := context.WithTimeoutCause(ctx, engine.RunTimeout(limits, run.Spec.Limits), engine.ErrRunTimedOut)
	defer cancel()
	s.record.Update(func(e *v1alpha1.ExecutionStatus) {
		e.Accelerator, e.ManifestDigest = baked.Accelerator, baked.Manifest.Digest
	})
	prepared, err := s.prepare(ctx, run, baked)
	if err != nil {
		return withCause(ctx, err)
	}
	mirror, err := s.mirror(ctx)
	if err != nil {
		return err
	}
	if err := s.confirmed(); err != nil {
		return err
	}
	return withCause(ctx, s.host.Engine.Execute(ctx, &engine.Attempt{
		Dir: s.dir, UIDs: s.vmUIDs(),
		Proof: run.Spec.Proof, Profile: baked.Spec, Accelerator: baked.Accelerator,
		Clocks:   engine.ClocksFor(baked.Accelerator, limits, run.Spec.Limits),
		Manifest: baked.Manifest, Source: s.source, Prepared: prepared,
		Pod: s.pod, Trees: s.source, Disks: s.host.Images,
		DialMirror: dialer(mirror),
		ProxyReady: func(ctx context.Context) error {
			_, err := s.view.until(ctx, proxyReady)
			return err
		},
		Cache: &engine.Cache{
			Ecosystem: prepared.Detection.Ecosystem, Indexes: s.locks,
			List: func(ctx context.Context) ([]cacheaudit.Artifact, error) { return s.host.ListCache(ctx, mirror.Addr()) },
		},
		Record: s.record,
	}))
}

// mirror waits for the address of the run's mirror. The operator's word for it is
// checked: the connector dials nothing but this.
func (s *session) mirror(ctx context.Context) (netip.AddrPort, error) {
	run, err := s.view.until(ctx, func(run *v1alpha1.ZTRun) bool {
		return run.Status.Proxy != nil && run.Status.Proxy.MirrorAddress != ""
	})
	if err != nil {
		return netip.AddrPort{}, err
	}
	mirror, err := netip.ParseAddrPort(run.Status.Proxy.MirrorAddress)
	if err != nil || !mirror.Addr().Is4() {
		return netip.AddrPort{}, fmt.Errorf("the mirror's address %q is not an IPv4 address and port", run.Status.Proxy.MirrorAddress)
	}
	return mirror, nil
}

// prepare reads the source in an unprivileged child and selects the plan. No VM
// and no proxy exists until it has succeeded.
func (s *session) prepare(ctx context.Context, run *v1alpha1.ZTRun, baked *BakedProfile) (*engine.Prepared, error) {
	var err error
	if s.pod, err = s.host.FindPod(run.Status.VMPod.UID); err != nil {
		return nil, fmt.Errorf("finding the vm pod on this node: %w", err)
	}
	if s.dir, err = s.host.Runs.MkdirPassable(s.name); err != nil {
		return nil, fmt.Errorf("making the attempt's directory: %w", err)
	}
	bundle, err := s.host.bundle(ctx, run)
	if err != nil {
		return nil, err
	}
	s.source, err = s.host.Source.Read(ctx, bundle, run.Spec.Proof, s.dir.Path(), s.firstUID)
	if err != nil {
		return nil, fmt.Errorf("reading the source: %w", err)
	}
	prepared, err := engine.Prepare(s.source, baked.Spec, run.Spec.Proof.Targets)
	if err != nil {
		return nil, err
	}
	if s.selected, err = selection(run, baked, prepared); err != nil {
		return nil, err
	}
	if s.locks, err = engine.LockIndexes(s.source); err != nil {
		return nil, fmt.Errorf("reading the lockfiles: %w", err)
	}
	s.record.Update(func(e *v1alpha1.ExecutionStatus) {
		e.State, e.Activity = v1alpha1.ExecutionWaitingForProxy, "waiting for the package proxy"
		e.Source = &v1alpha1.SourceStatus{
			Digest: s.source.Digest, Ecosystem: prepared.Detection.Ecosystem,
			Runtime: prepared.Runtime.Name, Selected: s.selected, Packages: int32(prepared.Detection.Packages),
		}
	})
	return prepared, nil
}

// selection is the record of the runtime that was prepared: one that this node has a
// disk of, and the one of the run's earlier attempts.
func selection(run *v1alpha1.ZTRun, baked *BakedProfile, prepared *engine.Prepared) (*v1alpha1.RuntimeRecord, error) {
	_, has := baked.Manifest.Runtimes[prepared.Runtime.Name]
	if err := runtimes.Baked(prepared.Runtime, has); err != nil {
		return nil, err
	}
	selected := runtimes.Record(prepared.Runtime, prepared.Detection.Ecosystem, baked.Spec.Guest)
	if run.Status.Runtime == nil {
		return selected, nil
	}
	return selected, runtimes.Same(run.Status.Runtime, selected)
}

// confirmed checks before anything is executed that the operator recorded the runtime
// that this attempt came to.
func (s *session) confirmed() error {
	run, _ := s.view.get()
	if run.Status.Runtime == nil {
		return &engine.Failure{Detail: v1alpha1.DetailRecordMissing, Subject: "status.runtime",
			Err: errors.New("the operator gave the address of a mirror, but did not record the run's runtime")}
	}
	return runtimes.Same(run.Status.Runtime, s.selected)
}

// clean removes everything of the attempt from this node.
func (s *session) clean() error {
	var errs []error
	if s.source != nil {
		errs = append(errs, s.source.Close())
	}
	if s.pod == nil {
		// An interrupted attempt's pod may still hold a process of it.
		if run, _ := s.view.get(); run.Status.VMPod != nil {
			s.pod, _ = s.host.FindPod(run.Status.VMPod.UID)
		}
	}
	if s.pod != nil {
		errs = append(errs, s.pod.Release())
	}
	if s.dir != nil {
		errs = append(errs, s.dir.Close())
	}
	errs = append(errs, s.host.Runs.RemoveAll(s.name))
	return errors.Join(errs...)
}

const mirrorDialTimeout = 10 * time.Second

func dialer(mirror netip.AddrPort) func(context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: mirrorDialTimeout}
	return func(ctx context.Context) (net.Conn, error) {
		return d.DialContext(ctx, "tcp4", mirror.String())
	}
}

// withCause puts why the context ended in front of what failed because of it.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
