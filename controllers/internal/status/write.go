package status

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Write patches the difference between base and changed into the status of the
// object, under base's resource version: a pass that read a stale object must not
// overwrite what a later pass decided. It writes nothing if the two are equal, and
// reports whether it wrote. Conflicts come back as such; the next pass sees the
// newer object.
func Write(ctx context.Context, c client.StatusClient, base, changed client.Object) (bool, error) {
	if equality.Semantic.DeepEqual(base, changed) {
		return false, nil
	}
	// The server's answer goes into a copy: the caller still compares its own two.
	answer, ok := changed.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("copy %T: not a client object", changed)
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, answer, patch); err != nil {
		return false, fmt.Errorf("write the status: %w", err)
	}
	return true, nil
}
