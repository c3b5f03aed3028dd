// Package baked reads what nodes report of a profile, for the two controllers that
// need it: ztprofile, which labels nodes, and ztrun, which selects on the labels.
package baked

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Label is the node label of nodes that have baked the profile as it is now.
func Label(p *v1alpha1.ZTProfile) (key, value string) {
	return v1alpha1.BakedLabelPrefix + p.Name, LabelValue(p.Status.SpecDigest)
}

// LabelValue is the label's value for a spec digest.
func LabelValue(specDigest string) string {
	hex := strings.TrimPrefix(specDigest, "sha256:")
	return hex[:min(len(hex), v1alpha1.BakedDigestLength)]
}

// Somewhere reports whether some node says that it has baked the profile as it is
// now.
func Somewhere(p *v1alpha1.ZTProfile) bool {
	current := p.Status.ObservedGeneration == p.Generation && p.Status.SpecDigest != ""
	return current && slices.ContainsFunc(p.Status.Nodes, func(n v1alpha1.NodeBake) bool {
		return n.State == v1alpha1.BakeBaked && n.Generation == p.Generation
	})
}

// maxSaid bounds a message that lists nodes.
const maxSaid = 5

// NodesSaid sums up what each node reports, for people.
func NodesSaid(p *v1alpha1.ZTProfile) string {
	if len(p.Status.Nodes) == 0 {
		return "none has reported on this profile; is the node agent running on a node that the profile selects?"
	}
	var said []string
	for i, n := range p.Status.Nodes {
		if i == maxSaid {
			said = append(said, fmt.Sprintf("and %d more", len(p.Status.Nodes)-i))
			break
		}
		said = append(said, nodeSaid(p, n))
	}
	return strings.Join(said, "; ")
}

func nodeSaid(p *v1alpha1.ZTProfile, n v1alpha1.NodeBake) string {
	text := fmt.Sprintf("%s: %s", n.Name, n.State)
	if n.Generation != p.Generation {
		text += " (an older generation)"
	}
	if n.Detail != "" {
		text += " " + string(n.Detail)
	}
	if n.Message != "" {
		text += " (" + n.Message + ")"
	}
	return text
}
