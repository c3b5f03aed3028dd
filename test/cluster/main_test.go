//go:build cluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const (
	runNamespace = "zt-runs"
	// settle bounds everything that needs no VM.
	settle = 2 * time.Minute
	// proofTime bounds a whole run, also one that waits for another, under TCG on a
	// busy machine.
	proofTime = 20 * time.Minute
)

// kube talks to the cluster; namespace is this test's own.
var (
	kube      client.WithWatch
	namespace string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if os.Getenv("KUBECONFIG") == "" {
		return 0, errors.New("KUBECONFIG is not set: make test-cluster starts a cluster and sets it")
	}
	install := exec.Command("../../hack/demo/install.sh")
	install.Stdout, install.Stderr = os.Stderr, os.Stderr
	if err := install.Run(); err != nil {
		return 0, fmt.Errorf("install the chart: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), eventsv1.AddToScheme(scheme), networkingv1.AddToScheme(scheme)); err != nil {
		return 0, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return 0, err
	}
	if kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return 0, err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "zt-test-"}}
	if err := kube.Create(context.Background(), ns); err != nil {
		return 0, err
	}
	namespace = ns.Name
	defer func() { _ = kube.Delete(context.Background(), ns) }()
	return m.Run(), nil
}
