package source

import (
	"errors"
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/protect"
)

// Limits of the protected files that are told to the agent, which reads each of them
// back from the VM: how many, and their bytes in all.
const (
	MaxProtected      = 1_000
	MaxProtectedBytes = 16 << 20
)

// ProtectedFile is a file that the candidate has exactly as the trusted tree does.
type ProtectedFile struct {
	// Path from the tree's root.
	Path string `json:"path"`
	// ID of its blob, 40 hex digits.
	ID string `json:"id"`
	// InBase is true if the base has it too.
	InBase bool `json:"inBase,omitempty"`
}

// protectedOf refuses a candidate that changes what judges it, and returns what it
// must not change in its VM either. It runs in the child.
func protectedOf(r request, trees []wireTree, listings map[v1alpha1.TreeName][]file) ([]ProtectedFile, error) {
	var rules *protect.Rules
	for i, wanted := range r.Trees {
		switch wanted.Name {
		case v1alpha1.TreeRegressionTest:
			rules = protect.NewRules(listing(listings[wanted.Name]), trees[i].Content, wanted.Targets)
		case v1alpha1.TreeCandidate:
			if rules == nil {
				return nil, errors.New("the candidate was asked for without the tree it is held against")
			}
			if refused := rules.Check(listing(listings[wanted.Name])); refused != nil {
				return nil, &wireRefusal{Detail: refused.Detail, Subject: refused.Subject, Message: refused.Message}
			}
			return readable(rules.Files(), listings[v1alpha1.TreeBase]), nil
		}
	}
	return nil, nil
}

func listing(files []file) []protect.File {
	out := make([]protect.File, len(files))
	for i, f := range files {
		mode := "100644"
		switch {
		case f.link:
			mode = "120000"
		case f.executable:
			mode = "100755"
		}
		out[i] = protect.File{Path: f.path, ID: f.id, Mode: mode, Size: f.size}
	}
	return out
}

// readable keeps the regular files that the broker can read back, within the limits.
func readable(files []protect.File, base []file) []ProtectedFile {
	ids := map[string]string{}
	for _, f := range base {
		ids[f.path] = f.id
	}
	var out []ProtectedFile
	var total int64
	for _, f := range files {
		if f.Mode == "120000" || f.Size > brokerproto.MaxFile || total+f.Size > MaxProtectedBytes || len(out) == MaxProtected {
			continue
		}
		total += f.Size
		out = append(out, ProtectedFile{Path: f.Path, ID: f.ID, InBase: ids[f.Path] == f.ID})
	}
	return out
}

// checkProtected bounds the child's word.
func checkProtected(files []ProtectedFile) error {
	if len(files) > MaxProtected {
		return errors.New("too many protected files")
	}
	seen := make([]string, 0, len(files))
	for _, f := range files {
		if checkPath(f.Path) != "" || !objectID.MatchString(f.ID) {
			return errors.New("a protected file without a plain path or an object id")
		}
		seen = append(seen, f.Path)
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != len(files) {
		return errors.New("a protected file named twice")
	}
	return nil
}
