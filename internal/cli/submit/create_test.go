package submit

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

var request = Request{
	Name: "fix", Namespace: "team-a", Profile: "default",
	Base: strings.Repeat("a", 40), RegressionTest: strings.Repeat("b", 40), Candidate: strings.Repeat("c", 40),
	Targets: []string{"test/x.test.js"}, Bundle: []byte("# v2 git bundle\n"),
}

func newClient(t *testing.T, funcs interceptor.Funcs) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	assignUID := funcs.Create
	funcs.Create = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		obj.SetUID("uid-1")
		if assignUID != nil {
			return assignUID(ctx, c, obj, opts...)
		}
		return c.Create(ctx, obj, opts...)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).Build()
}

func TestCreateMakesTheRunOwnItsBundle(t *testing.T) {
	cm, run, err := request.Objects()
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, interceptor.Funcs{})
	if err := Create(t.Context(), c, cm, run); err != nil {
		t.Fatal(err)
	}
	var got corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(cm), &got); err != nil {
		t.Fatal(err)
	}
	want := metav1.OwnerReference{APIVersion: "zt.ai-dossier.org/v1alpha1", Kind: "ZTRun", Name: "fix", UID: "uid-1"}
	if len(got.OwnerReferences) != 1 || got.OwnerReferences[0] != want {
		t.Errorf("owners = %v, want %v", got.OwnerReferences, want)
	}
	if got.Immutable == nil || !*got.Immutable || string(got.BinaryData["bundle"]) != string(request.Bundle) {
		t.Errorf("the ConfigMap is %v, want the bundle, immutable", got)
	}
	var stored v1alpha1.ZTRun
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(run), &stored); err != nil {
		t.Fatal(err)
	}
	if ref := stored.Spec.Source.Bundle.ConfigMapRef; ref.Name != got.Name || ref.Key != "bundle" {
		t.Errorf("the run reads %v, want key bundle of %s", ref, got.Name)
	}
}

func TestCreateLeavesNothingBehindWhenTheRunIsRefused(t *testing.T) {
	refused := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("ztruns").GroupResource(), "fix", nil)
	ctx, cancel := context.WithCancel(t.Context())
	c := newClient(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		if _, ok := obj.(*v1alpha1.ZTRun); ok {
			cancel()
			return refused
		}
		return c.Create(ctx, obj, opts...)
	}})
	cm, run, err := request.Objects()
	if err != nil {
		t.Fatal(err)
	}
	if err := Create(ctx, c, cm, run); !errors.Is(err, refused) {
		t.Errorf("Create: %v, want the API server's refusal", err)
	}
	var left corev1.ConfigMapList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 0 {
		t.Errorf("left behind: %v, %v", left.Items, err)
	}
}

func TestCreateDoesNotTouchAConfigMapThatWasThereBefore(t *testing.T) {
	cm, run, err := request.Objects()
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, interceptor.Funcs{})
	mine := cm.DeepCopy()
	mine.BinaryData = map[string][]byte{"bundle": []byte("mine")}
	if err := c.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), c, cm, run); !apierrors.IsAlreadyExists(err) {
		t.Errorf("Create: %v, want already exists", err)
	}
	var got corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(cm), &got); err != nil || string(got.BinaryData["bundle"]) != "mine" {
		t.Errorf("the earlier ConfigMap is %q, %v", got.BinaryData, err)
	}
}

func TestCreateSaysThatTheBundleStaysIfItCannotBeOwned(t *testing.T) {
	c := newClient(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return apierrors.NewInternalError(errors.New("injected"))
	}})
	cm, run, err := request.Objects()
	if err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), c, cm, run); err == nil || !strings.Contains(err.Error(), "was created, but configmap fix-source will not be deleted with it") {
		t.Errorf("Create: %v", err)
	}
}

func TestObjectsRefusesABundleThatNoConfigMapHolds(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes int
		fits  bool
	}{
		"exactly the limit fits":           {MaxBundleBytes, true},
		"one byte over the limit does not": {MaxBundleBytes + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := request
			r.Bundle = make([]byte, tc.bytes)
			_, _, err := r.Objects()
			tooLarge := (*TooLargeError)(nil)
			if errors.As(err, &tooLarge) == tc.fits {
				t.Fatalf("Objects: %v, want fits=%v", err, tc.fits)
			}
			if !tc.fits && !strings.Contains(err.Error(), "1025 KiB, expected at most 1024 KiB") {
				t.Errorf("message %q does not say what was found and expected", err)
			}
		})
	}
}
