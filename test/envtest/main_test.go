package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/ai-dossier/zt-operator/controllers/manager"
	"github.com/ai-dossier/zt-operator/controllers/netprobe"
	"github.com/ai-dossier/zt-operator/test/builders"
)

const (
	runNamespace      = "zt-runs"
	operatorNamespace = "zt-system"
)

// One API server and one operator serve every test; each test has its own namespace,
// and where it changes one, its own profile.
var (
	api    client.Client
	config *rest.Config
	logs   = &scriptedLogs{text: map[string]string{}}
)

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "envtest:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, fmt.Errorf("KUBEBUILDER_ASSETS is not set; it names a folder with etcd, kube-apiserver and kubectl")
	}
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.UseDevMode(false)))
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	// Pod Security enforcement is on by default and reads the namespace's labels.
	environment.ControlPlane.GetAPIServer().Configure().Append("service-cluster-ip-range", "10.0.0.0/16")
	if config, err = environment.Start(); err != nil {
		return 1, fmt.Errorf("start the control plane: %w", err)
	}
	defer func() {
		if stopErr := environment.Stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("stop the control plane: %w", stopErr)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done, err := startOperator(ctx)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	cancel()
	return code, <-done
}

// startOperator starts the manager; done has its end.
func startOperator(ctx context.Context) (done <-chan error, err error) {
	options, err := manager.Options(runNamespace)
	if err != nil {
		return nil, err
	}
	options.Metrics.BindAddress = "0"
	if api, err = client.New(config, client.Options{Scheme: options.Scheme}); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	if err := prepareCluster(ctx); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(as("zt-operator"), options)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	kube, err := kubernetes.NewForConfig(as("zt-operator"))
	if err != nil {
		return nil, fmt.Errorf("make a clientset: %w", err)
	}
	err = manager.Add(ctx, mgr, manager.Config{
		RunNamespace: runNamespace, OperatorNamespace: operatorNamespace,
		HolderImage: builders.Image("holder", "9").Image, Kube: kube, Clock: clock.RealClock{}, Logs: logs,
		// There is no kubelet to run a probe.
		Network: enforcedNetwork{},
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ended, nil
}

// enforcedNetwork is the result of a probe that saw enforcement.
type enforcedNetwork struct{}

func (enforcedNetwork) State() netprobe.State { return netprobe.State{Enforced: true} }

// as is a configuration with the rights of one of the installation's service accounts:
// what the shipped roles do not grant fails here.
func as(account string) *rest.Config {
	c := rest.CopyConfig(config)
	c.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + operatorNamespace + ":" + account,
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	return c
}

// agentOn is a client with the rights of a node's agent and no more: its token names the
// node.
func agentOn(node string) (client.Client, error) {
	c := as("zt-node-agent")
	c.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	agent, err := client.New(c, client.Options{Scheme: api.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("make the client of %s's agent: %w", node, err)
	}
	return agent, nil
}

// applyRoles creates the shipped roles, bindings and admission policies.
func applyRoles(ctx context.Context) error {
	file, err := os.Open(filepath.Join("..", "..", "config", "rbac", "rbac.yaml"))
	if err != nil {
		return err
	}
	defer file.Close()
	documents := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		role := &unstructured.Unstructured{}
		switch err := documents.Decode(role); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the roles: %w", err)
		case len(role.Object) == 0:
			continue
		}
		if err := api.Create(ctx, role); err != nil {
			return fmt.Errorf("create %s %s: %w", role.GetKind(), role.GetName(), err)
		}
	}
}

// prepareCluster makes what the chart and the cluster bring: two namespaces, one node,
// the default profile and policy, and the node agent's word that it has baked it.
func prepareCluster(ctx context.Context) error {
	namespaces := []*corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}},
		{ObjectMeta: metav1.ObjectMeta{Name: runNamespace, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
		}}},
	}
	for _, ns := range namespaces {
		if err := api.Create(ctx, ns); err != nil {
			return fmt.Errorf("create namespace %s: %w", ns.Name, err)
		}
	}
	if err := applyRoles(ctx); err != nil {
		return err
	}
	if err := createNode(ctx, node1); err != nil {
		return err
	}
	policy := builders.Policy("default")
	policy.Generation = 0
	if err := api.Create(ctx, policy); err != nil {
		return fmt.Errorf("create the policy: %w", err)
	}
	return createProfile(ctx, builders.Profile("default"), node1)
}
