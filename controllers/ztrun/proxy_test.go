package ztrun

import (
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/test/builders"
)

func (w *world) named(part string) types.NamespacedName {
	return types.NamespacedName{Namespace: runNamespace, Name: newScope(w.run(), w.clock.Now()).name(part)}
}

func TestNoProxyExistsBeforeTheSourceWasRead(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	w.agent(&v1alpha1.ExecutionStatus{Attempt: 1, State: v1alpha1.ExecutionReadingSource})
	w.settle()
	for _, name := range w.objects() {
		if strings.Contains(name, "squid") || strings.Contains(name, "mirror") {
			t.Errorf("%s exists", name)
		}
	}
}

func TestTheMirrorKnowsSquidsAddressAndSquidTheMirrors(t *testing.T) {
	w, _ := readyWorld(t)
	w.toProxyStarting()
	config := &corev1.ConfigMap{}
	w.get(w.named(objectMirrorConfig), config)
	if !strings.Contains(config.Data[verdaccioConfigKey], "http://10.96.7.8:3128") {
		t.Errorf("the mirror's configuration does not name Squid's Service:\n%s", config.Data[verdaccioConfigKey])
	}
	w.wantCondition(v1alpha1.ConditionProxyReady, metav1.ConditionFalse, v1alpha1.DetailProxyStarting, "mirror: pod phase Pending")

	w.kubelet(v1alpha1.RoleMirror, "10.244.0.6")
	w.settle()
	secret := &corev1.Secret{}
	w.get(w.named(objectSquidConfig), secret)
	if !strings.Contains(string(secret.Data[squidConfigKey]), "10.244.0.6") {
		t.Error("squid.conf does not name the mirror's address")
	}
	if strings.Contains(string(secret.Data[squidConfigKey]), "pypi.org") {
		t.Error("squid.conf of an npm run admits Python's registry")
	}
	for _, role := range []string{v1alpha1.RoleMirror, v1alpha1.RoleSquid} {
		wantRestricted(t, w.pod(role))
	}
}

func TestOnlySquidHoldsTheCAsKey(t *testing.T) {
	w, _ := readyWorld(t)
	w.toSquidStarting()
	ca, config := &corev1.Secret{}, &corev1.ConfigMap{}
	w.get(w.named(objectSquidCA), ca)
	w.get(w.named(objectMirrorConfig), config)
	if strings.Contains(config.Data[caCertKey], "PRIVATE KEY") || config.Data[caCertKey] != string(ca.Data[caCertKey]) {
		t.Error("the mirror has a key, or another certificate than the CA's")
	}
	block, rest := pem.Decode(ca.Data[caPairKey])
	key, _ := pem.Decode(rest)
	if block == nil || key == nil || key.Type != "PRIVATE KEY" {
		t.Error("Squid's file is not certificate and key")
	}
	for _, volume := range w.pod(v1alpha1.RoleMirror).Spec.Volumes {
		if volume.Secret != nil || volume.Projected != nil {
			t.Errorf("the mirror mounts %s", volume.Name)
		}
	}
}

func TestSquidTrustsTheProfilesCABundle(t *testing.T) {
	w, _ := readyWorld(t)
	edit(w, builders.Profile("default").Object(), func(p *v1alpha1.ZTProfile) {
		p.Spec.Proxy.CABundle = &v1alpha1.ConfigMapKeyRef{Name: "registry-cas", Key: "ca.pem"}
	})
	w.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "zt-system", Name: "registry-cas"}, Data: map[string]string{"ca.pem": "the bundle"},
	})
	w.toSquidStarting()
	secret := &corev1.Secret{}
	w.get(w.named(objectSquidConfig), secret)
	if got := string(secret.Data[upstreamKey]); got != "the bundle" {
		t.Errorf("Squid's upstream bundle is %q", got)
	}
}

func TestTheProfileBoundsTheProxysPods(t *testing.T) {
	w, _ := readyWorld(t)
	edit(w, builders.Profile("default").Object(), func(p *v1alpha1.ZTProfile) {
		p.Spec.Proxy.Squid.MemoryMiB, p.Spec.Proxy.Mirrors[0].MemoryMiB, p.Spec.Proxy.Mirrors[0].CacheMiB = 700, 1500, 6000
	})
	w.toSquidStarting()
	mirror, squid := w.pod(v1alpha1.RoleMirror), w.pod(v1alpha1.RoleSquid)
	cache := mirror.Spec.Volumes[slices.IndexFunc(mirror.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "storage" })]
	for what, got := range map[string][2]string{
		"Squid's memory":   {squid.Spec.Containers[0].Resources.Limits.Memory().String(), "700Mi"},
		"mirror's memory":  {mirror.Spec.Containers[0].Resources.Limits.Memory().String(), "1500Mi"},
		"mirror's cache":   {cache.EmptyDir.SizeLimit.String(), "6000Mi"},
		"auditor's memory": {mirror.Spec.Containers[1].Resources.Limits.Memory().String(), "64Mi"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is bound to %s, want %s", what, got[0], got[1])
		}
	}
}

func TestTheProxyIsReadyWhenBothPodsAre(t *testing.T) {
	w, _ := readyWorld(t)
	w.toSquidStarting()
	if got := w.run().Status.Proxy; got == nil || got.MirrorAddress != "10.244.0.6:4873" || got.PolicyDigest == "" || got.ConfigDigest == "" {
		t.Errorf("before Squid is ready, status.proxy is %+v", got)
	}
	w.kubelet(v1alpha1.RoleSquid, "10.244.0.7")
	w.settle()
	w.wantCondition(v1alpha1.ConditionProxyReady, metav1.ConditionTrue, v1alpha1.DetailProxyReady, "")
}

func TestTheProxyBecomesReadyBesideTheFirstVM(t *testing.T) {
	w, _ := readyWorld(t)
	w.toSquidStarting()
	w.agent(builders.Execution(1, bundleDigest).State(v1alpha1.ExecutionRunning).Object())
	w.kubelet(v1alpha1.RoleSquid, "10.244.0.7")
	w.settle()
	w.wantCondition(v1alpha1.ConditionProxyReady, metav1.ConditionTrue, v1alpha1.DetailProxyReady, "")
}

func TestAProxyThatIsNotReadyInTimeIsNamed(t *testing.T) {
	w, _ := readyWorld(t)
	w.toSquidStarting()
	edit(w, w.pod(v1alpha1.RoleSquid), func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "squid", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		}}
	})
	w.settle()
	w.wantCondition(v1alpha1.ConditionProxyReady, metav1.ConditionFalse, v1alpha1.DetailProxyStarting, "container squid: ImagePullBackOff")
	w.advance(proxyReadyBound)
	w.pass()
	w.agent(builders.Execution(1, bundleDigest).Finished().Object())
	w.wantPaused(v1alpha1.DetailProxyNotReady, "ImagePullBackOff")
}

func TestAProxyThatEndsBeforeItIsReadyPausesTheRunAtOnce(t *testing.T) {
	w, _ := readyWorld(t)
	w.toSquidStarting()
	edit(w, w.pod(v1alpha1.RoleSquid), func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "squid", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 78, Message: "squid: refused to start"}},
		}}
	})
	w.pass()
	w.agent(builders.Execution(1, bundleDigest).Finished().Object())
	w.wantPaused(v1alpha1.DetailProxyNotReady, "exit status 78  squid: refused to start")
}

func TestARunWhoseEcosystemHasNoMirrorIsUnsupported(t *testing.T) {
	w, _ := readyWorld(t)
	w.toPlaced()
	e := builders.Execution(1, bundleDigest).Object()
	e.Source.Ecosystem = v1alpha1.EcosystemUV
	w.agent(e)
	w.settle()
	w.wantOutcome(v1alpha1.ResultUnsupportedEnvironment, v1alpha1.DetailEcosystemNotOffered, `no package mirror for "uv"`)
}

func TestNetworkPoliciesAdmitOnlyTheChain(t *testing.T) {
	w, _ := readyWorld(t)
	edit(w, builders.Policy("default"), func(p *v1alpha1.ProxyPolicy) { p.Spec.ForbiddenDestinations = []string{"203.0.113.0/24"} })
	w.toRunning()
	policies := map[string]networkingv1.NetworkPolicySpec{}
	for _, role := range []string{v1alpha1.RoleVM, v1alpha1.RoleMirror, v1alpha1.RoleSquid} {
		np := &networkingv1.NetworkPolicy{}
		w.get(w.named(role), np)
		policies[role] = np.Spec
		if len(np.Spec.PolicyTypes) != 2 {
			t.Errorf("the policy of %s leaves a direction open: %v", role, np.Spec.PolicyTypes)
		}
		if np.Spec.PodSelector.MatchLabels[v1alpha1.RoleLabel] != role || np.Spec.PodSelector.MatchLabels[v1alpha1.RunUIDLabel] == "" {
			t.Errorf("the policy of %s selects %v", role, np.Spec.PodSelector.MatchLabels)
		}
	}
	if vm := policies[v1alpha1.RoleVM]; len(vm.Ingress) != 0 || len(vm.Egress) != 0 {
		t.Errorf("the vm pod has a network: %+v", vm)
	}
	mirror := policies[v1alpha1.RoleMirror]
	if len(mirror.Egress) != 1 || mirror.Egress[0].To[0].PodSelector.MatchLabels[v1alpha1.RoleLabel] != v1alpha1.RoleSquid || mirror.Egress[0].Ports[0].Port.IntVal != 3128 {
		t.Errorf("the mirror may reach %+v", mirror.Egress)
	}
	if from := mirror.Ingress[0].From[0]; from.NamespaceSelector == nil || from.PodSelector.MatchLabels[componentLabel] != nodeAgentComponent {
		t.Errorf("the mirror may be reached from %+v", from)
	}
	squid := policies[v1alpha1.RoleSquid]
	internet := squid.Egress[0].To[0].IPBlock
	for _, want := range []string{"10.0.0.0/8", "169.254.0.0/16", "203.0.113.0/24"} {
		if !slices.Contains(internet.Except, want) {
			t.Errorf("Squid may reach %s: %v", want, internet.Except)
		}
	}
	if len(squid.Egress[0].Ports) != 1 || squid.Egress[0].Ports[0].Port.IntVal != 443 || len(squid.Ingress) != 1 {
		t.Errorf("Squid's policy is %+v", squid)
	}
}

func TestARunningSquidDoesNotFollowAPolicyThatChanges(t *testing.T) {
	w, _ := readyWorld(t)
	w.toRunning()
	before := w.run().Status.Proxy
	edit(w, builders.Policy("default"), func(p *v1alpha1.ProxyPolicy) { p.Spec.MaxResponseMiB = 1 })
	w.advance(time.Minute)
	w.settle()
	if after := w.run().Status.Proxy; *after != *before {
		t.Errorf("status.proxy changed from %+v to %+v", before, after)
	}
}
