package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// maxMessage bounds a condition's message, in bytes.
const maxMessage = 1024

// Condition is one condition as a reconciler computed it.
type Condition struct {
	Type    string
	Status  metav1.ConditionStatus
	Detail  v1alpha1.Detail
	Message string
}

// Set writes computed conditions over the list, in their order. A transition time
// changes only with the status, so an unchanged condition stays byte for byte.
func Set(list []metav1.Condition, generation int64, now time.Time, computed []Condition) []metav1.Condition {
	list = slices.Clone(list)
	for _, c := range computed {
		meta.SetStatusCondition(&list, metav1.Condition{
			Type:               c.Type,
			Status:             c.Status,
			Reason:             c.Detail.Reason(),
			Message:            safetext.Line(c.Message, maxMessage),
			ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		})
	}
	return list
}

// Transitions returns the conditions whose status or reason differs between two
// lists, in the order of the newer one.
func Transitions(before, after []metav1.Condition) []metav1.Condition {
	var changed []metav1.Condition
	for _, c := range after {
		old := meta.FindStatusCondition(before, c.Type)
		if old == nil || old.Status != c.Status || old.Reason != c.Reason {
			changed = append(changed, c)
		}
	}
	return changed
}
