package netprobe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	probe "github.com/ai-dossier/zt-operator/internal/netprobe"
)

// +kubebuilder:rbac:groups="",namespace=zt-runs,resources=pods,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,namespace=zt-runs,resources=networkpolicies,verbs=get;list;create;delete

// probe makes the pods and reads the clients' exit statuses. An error means that
// nothing can be said.
func (p *Prober) probe(ctx context.Context) (enforced bool, seen string, err error) {
	if err := p.remove(ctx); err != nil {
		return false, "", fmt.Errorf("remove what an earlier probe left: %w", err)
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupBound)
		defer cancel()
		if removeErr := p.remove(ending); removeErr != nil {
			err = errors.Join(err, fmt.Errorf("remove the probe: %w", removeErr))
		}
	}()
	for _, policy := range p.policies() {
		if err := p.Client.Create(ctx, policy); err != nil {
			return false, "", fmt.Errorf("create the probe's NetworkPolicies: %w", err)
		}
	}
	nodes, err := p.pick(ctx)
	if err != nil {
		return false, "", err
	}
	servers, absent, err := p.serve(ctx, nodes)
	if err != nil {
		return false, "", err
	}
	return p.dial(ctx, servers, absent)
}

// serve starts a server on each node. A node on which it does not start in time runs no
// pod of a run either: it is left out, and named in absent.
func (p *Prober) serve(ctx context.Context, nodes []string) (servers []end, absent error, err error) {
	for i, node := range nodes {
		if err := p.Client.Create(ctx, p.server(i, node)); err != nil {
			return nil, nil, fmt.Errorf("create the probe's server: %w", err)
		}
	}
	starting, cancel := context.WithTimeout(ctx, cmp.Or(p.startBound, serversBound))
	defer cancel()
	for i, node := range nodes {
		pod, err := p.await(starting, numbered(serverName, i), func(pod *corev1.Pod) bool {
			return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "" || over(pod)
		})
		switch {
		case err == nil && over(pod):
			absent = errors.Join(absent, ended(pod))
		case err == nil:
			servers = append(servers, end{node, pod.Status.PodIP})
		case starting.Err() != nil:
			absent = errors.Join(absent, err)
		default:
			return nil, nil, err
		}
	}
	if len(servers) == 0 {
		return nil, nil, absent
	}
	return servers, absent, nil
}

// dial starts a client beside each server and reads what they say. One that reached
// what it must not is enough to refute; all have to agree to prove.
func (p *Prober) dial(ctx context.Context, servers []end, absent error) (enforced bool, seen string, err error) {
	for i, server := range servers {
		if err := p.Client.Create(ctx, p.client(i, server.node, targets(servers, i)...)); err != nil {
			return false, "", fmt.Errorf("create the probe's client: %w", err)
		}
	}
	var failed error
	for i, server := range servers {
		answer, err := p.await(ctx, numbered(clientName, i), over)
		if err == nil {
			enforced, seen, err = judge(answer)
		}
		switch {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("on node %s: %w", server.node, err))
		case !enforced:
			return false, fmt.Sprintf("from node %s, %s", server.node, seen), nil
		}
	}
	if failed != nil {
		return false, "", failed
	}
	seen = "within and between nodes " + nodesOf(servers)
	if len(servers) == 1 {
		seen = "on node " + servers[0].node
	}
	if absent != nil {
		seen += "; not seen: " + absent.Error()
	}
	return true, seen, nil
}

// judge reads a client's exit status.
func judge(pod *corev1.Pod) (enforced bool, seen string, err error) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Terminated == nil {
			continue
		}
		said := strings.TrimSpace(c.State.Terminated.Message)
		switch c.State.Terminated.ExitCode {
		case probe.ExitEnforced:
			return true, "", nil
		case probe.ExitNotEnforced:
			return false, said, nil
		case probe.ExitBroken:
			return false, "", fmt.Errorf("two pods could not even talk where their policies allow it: %s", said)
		}
	}
	return false, "", ended(pod)
}

func ended(pod *corev1.Pod) error {
	return fmt.Errorf("pod %s ended: %s", pod.Name, describe(pod))
}

func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// await polls a pod until it is as wanted.
func (p *Prober) await(ctx context.Context, name string, wanted func(*corev1.Pod) bool) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	for {
		err := p.Live.Get(ctx, types.NamespacedName{Namespace: p.RunNamespace, Name: name}, pod)
		switch {
		case err != nil && ctx.Err() == nil:
			return nil, fmt.Errorf("read the probe's pod: %w", err)
		case err == nil && wanted(pod):
			return pod, nil
		}
		if !p.pause(ctx) {
			return nil, fmt.Errorf("pod %s did not get there in time: %s", name, describe(pod))
		}
	}
}

func (p *Prober) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(poll):
		return true
	}
}

// describe says what keeps a pod from running.
func describe(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil:
			return strings.TrimSpace(c.State.Waiting.Reason + " " + c.State.Waiting.Message)
		case c.State.Terminated != nil:
			return strings.TrimSpace(fmt.Sprintf("exit status %d %s %s", c.State.Terminated.ExitCode, c.State.Terminated.Reason, c.State.Terminated.Message))
		}
	}
	return "phase " + string(pod.Status.Phase)
}

// remove deletes whatever a probe has made and waits until it is gone. The pods go
// first: what confines them stays as long as they do.
func (p *Prober) remove(ctx context.Context) error {
	for _, list := range []client.ObjectList{&corev1.PodList{}, &networkingv1.NetworkPolicyList{}} {
		for {
			left, err := p.removeAll(ctx, list)
			if err != nil {
				return err
			}
			if left == 0 {
				break
			}
			if !p.pause(ctx) {
				return fmt.Errorf("%d objects are still there", left)
			}
		}
	}
	return nil
}

func (p *Prober) removeAll(ctx context.Context, list client.ObjectList) (left int, err error) {
	if err := p.Live.List(ctx, list, client.InNamespace(p.RunNamespace), client.HasLabels{partLabel}); err != nil {
		return 0, fmt.Errorf("list the probe's objects: %w", err)
	}
	var objects []client.Object
	switch l := list.(type) {
	case *corev1.PodList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	case *networkingv1.NetworkPolicyList:
		for i := range l.Items {
			objects = append(objects, &l.Items[i])
		}
	}
	for _, object := range objects {
		if !object.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err := p.Client.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
			return 0, fmt.Errorf("delete %s: %w", object.GetName(), err)
		}
	}
	return len(objects), nil
}
