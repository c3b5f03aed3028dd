//go:build cluster

package cluster

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// defaultName is that of the chart's profile.
const defaultName = "default"

// bakeTime bounds the bake of a profile whose images a node has already.
const bakeTime = 2 * time.Minute

func defaultProfile(t *testing.T) *v1alpha1.ZTProfile {
	t.Helper()
	profile := &v1alpha1.ZTProfile{}
	if err := kube.Get(t.Context(), client.ObjectKey{Name: defaultName}, profile); err != nil {
		t.Fatal(err)
	}
	return profile
}

// createProfile makes a changed copy of the default profile, for the time of the test.
func createProfile(t *testing.T, name string, change func(*v1alpha1.ZTProfileSpec)) *v1alpha1.ZTProfile {
	t.Helper()
	profile := &v1alpha1.ZTProfile{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name + "-" + rand.String(4)}, Spec: defaultProfile(t).Spec}
	change(&profile.Spec)
	if err := kube.Create(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.Delete(context.Background(), profile); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete the profile: %v", err)
		}
	})
	return profile
}

// profileInTurn is the default profile with room for one tree at a time, baked.
func profileInTurn(t *testing.T) string {
	t.Helper()
	return readyProfile(t, "in-turn", func(spec *v1alpha1.ZTProfileSpec) { spec.ParallelTrees = 1 })
}

// readyProfile is a changed copy of the default profile that a node has baked.
func readyProfile(t *testing.T, name string, change func(*v1alpha1.ZTProfileSpec)) string {
	t.Helper()
	profile := createProfile(t, name, change)
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, bakeTime, true, func(ctx context.Context) (bool, error) {
		err := kube.Get(ctx, client.ObjectKeyFromObject(profile), profile)
		return err == nil && meta.IsStatusConditionTrue(profile.Status.Conditions, v1alpha1.ConditionReady), err
	})
	if err != nil {
		t.Fatalf("profile %s is not ready: %v; %+v", profile.Name, err, profile.Status)
	}
	return profile.Name
}
