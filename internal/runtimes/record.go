package runtimes

import (
	"fmt"
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/refusal"
)

// Record is what is kept of a selection: all that decides what repository code runs in.
// Sizes and limits of the profile are no part of it; they may be mended between two
// attempts.
func Record(selected v1alpha1.Runtime, manager v1alpha1.Ecosystem, guest v1alpha1.PinnedImage) *v1alpha1.RuntimeRecord {
	r := &v1alpha1.RuntimeRecord{
		Ecosystem: manager, Name: selected.Name, Language: selected.Language, Version: selected.Version,
		Image: selected.Image, Guest: guest.Image,
	}
	for _, m := range selected.Managers {
		if m.Name == manager {
			r.ManagerVersion = m.Version
		}
	}
	return r
}

// Same refuses a selection that is not the one the run has recorded. Its error is a
// *refusal.Refusal that names the first difference.
func Same(recorded, selected *v1alpha1.RuntimeRecord) error {
	if recorded == nil || selected == nil {
		return refusal.New(v1alpha1.DetailRecordMismatch, "", "there is no record to compare the selected runtime with")
	}
	for _, part := range []struct{ name, was, is string }{
		{"ecosystem", string(recorded.Ecosystem), string(selected.Ecosystem)},
		{"name", recorded.Name, selected.Name},
		{"language", string(recorded.Language), string(selected.Language)},
		{"version", recorded.Version, selected.Version},
		{"managerVersion", recorded.ManagerVersion, selected.ManagerVersion},
		{"image", recorded.Image, selected.Image},
		{"guest", recorded.Guest, selected.Guest},
	} {
		if part.was != part.is {
			return refusal.New(v1alpha1.DetailRecordMismatch, "runtime."+part.name,
				fmt.Sprintf("the run was recorded with %s %q, this attempt comes to %q; create the run again to prove it under the profile as it is now", part.name, part.was, part.is))
		}
	}
	return nil
}

// InProfile refuses a selection that the profile does not contain as it is.
func InProfile(selected *v1alpha1.RuntimeRecord, profile v1alpha1.ZTProfileSpec) error {
	if selected == nil {
		return refusal.New(v1alpha1.DetailRecordMismatch, "", "the node agent did not say which runtime it selected")
	}
	at := slices.IndexFunc(profile.Runtimes, func(r v1alpha1.Runtime) bool { return r.Name == selected.Name })
	if at < 0 {
		return refusal.New(v1alpha1.DetailRecordMismatch, "runtime.name",
			fmt.Sprintf("runtime %q was selected, and the profile has none of that name; if the profile was just changed, create the run again", selected.Name))
	}
	return Same(Record(profile.Runtimes[at], selected.Ecosystem, profile.Guest), selected)
}
