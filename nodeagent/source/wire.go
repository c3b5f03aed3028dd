package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/refusal"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// request is the first line of the child's input; a bundle follows if Trees is set.
type request struct {
	// Trees to read.
	Trees []wantedTree `json:"trees,omitempty"`
	// Wanted root files, with the most bytes of each.
	Wanted map[string]int64 `json:"wanted,omitempty"`
	// Disk is the id of the tree to write as a disk named diskName.
	Disk string `json:"disk,omitempty"`
}

type wantedTree struct {
	Name   v1alpha1.TreeName `json:"name"`
	Commit string            `json:"commit"`
	// Targets must be files of the tree.
	Targets []string `json:"targets,omitempty"`
}

// answer is the child's whole output. Everything in it is a stranger's word.
type answer struct {
	Refusal *wireRefusal `json:"refusal,omitempty"`
	Trees   []wireTree   `json:"trees,omitempty"`
	// Protected files of the candidate.
	Protected []ProtectedFile `json:"protected,omitempty"`
}

type wireRefusal struct {
	Detail  v1alpha1.Detail `json:"detail"`
	Subject string          `json:"subject,omitempty"`
	Message string          `json:"message"`
}

type wireTree struct {
	Name    v1alpha1.TreeName `json:"name"`
	Commit  string            `json:"commit"`
	TreeID  string            `json:"tree"`
	Files   int               `json:"files"`
	Root    []wireEntry       `json:"root"`
	Content map[string][]byte `json:"content,omitempty"`
}

type wireEntry struct {
	Name string              `json:"name"`
	Type ecosystem.EntryType `json:"type"`
	Size int64               `json:"size,omitempty"`
}

// sayable are the details that a child may refuse with.
var sayable = []v1alpha1.Detail{
	v1alpha1.DetailBundleInvalid, v1alpha1.DetailCommitNotInBundle,
	v1alpha1.DetailTreeUnsupported, v1alpha1.DetailTargetMissing,
	v1alpha1.DetailProtectedPathChanged,
}

const maxMessage = 512

// maxAnswer bounds the child's output for a request, in bytes: entries, and
// contents in base64.
func (r request) maxAnswer() int64 {
	perTree := int64(MaxRootEntries * (6*MaxName + 64))
	for _, size := range r.Wanted {
		perTree += size*4/3 + 1024
	}
	return perTree*int64(len(r.Trees)) + MaxProtected*(6*MaxPath+64) + 64<<10
}

// parsed is an answer that keeps every rule.
type parsed struct {
	trees     map[v1alpha1.TreeName]Tree
	protected []ProtectedFile
}

// parseAnswer reads the child's output. A refusal comes back as a *Refusal; an
// answer that breaks any rule is an error, whatever else it says.
func parseAnswer(r request, output []byte) (*parsed, error) {
	decoder := json.NewDecoder(bytes.NewReader(output))
	decoder.DisallowUnknownFields()
	var a answer
	if err := decoder.Decode(&a); err != nil {
		return nil, fmt.Errorf("the source reader's answer: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the source reader's answer goes on after its end")
	}
	if a.Refusal != nil {
		return nil, a.Refusal.toError()
	}
	if len(a.Trees) != len(r.Trees) {
		return nil, fmt.Errorf("the source reader answered %d trees, asked for %d", len(a.Trees), len(r.Trees))
	}
	trees := map[v1alpha1.TreeName]Tree{}
	for i, wanted := range r.Trees {
		tree, err := a.Trees[i].check(wanted, r.Wanted)
		if err != nil {
			return nil, fmt.Errorf("the source reader's answer, tree %s: %w", wanted.Name, err)
		}
		trees[wanted.Name] = tree
	}
	if err := checkProtected(a.Protected); err != nil {
		return nil, fmt.Errorf("the source reader's answer: %w", err)
	}
	return &parsed{trees: trees, protected: a.Protected}, nil
}

func (w *wireRefusal) toError() error {
	if !slices.Contains(sayable, w.Detail) {
		return fmt.Errorf("the source reader refused with %q", safetext.Line(string(w.Detail), 64))
	}
	return refusal.New(w.Detail, w.Subject, safetext.Line(w.Message, maxMessage))
}

var objectID = regexp.MustCompile(`^[0-9a-f]{40}$`)

func (w *wireTree) check(wanted wantedTree, contents map[string]int64) (Tree, error) {
	switch {
	case w.Name != wanted.Name || w.Commit != wanted.Commit:
		return Tree{}, errors.New("another tree than asked for")
	case !objectID.MatchString(w.TreeID):
		return Tree{}, errors.New("its id is no object id")
	case w.Files < 0 || w.Files > MaxFiles:
		return Tree{}, errors.New("its number of files is out of bounds")
	case len(w.Root) > MaxRootEntries:
		return Tree{}, errors.New("too many root entries")
	}
	root := ecosystem.RootFiles{Content: map[string][]byte{}}
	sizes, last := map[string]int64{}, ""
	for _, entry := range w.Root {
		if err := entry.check(last); err != nil {
			return Tree{}, err
		}
		last = entry.Name
		root.Names = append(root.Names, ecosystem.Entry{Name: entry.Name, Type: entry.Type, Size: entry.Size})
		if entry.Type == ecosystem.EntryFile {
			sizes[entry.Name] = entry.Size
		}
	}
	for name, content := range w.Content {
		limit, asked := contents[name]
		size, listed := sizes[name]
		if !asked || !listed || size > limit || int64(len(content)) != size {
			return Tree{}, errors.New("content of a file that was not asked for, or not all of it")
		}
		root.Content[name] = content
	}
	return Tree{Commit: w.Commit, TreeID: w.TreeID, Files: w.Files, Root: root}, nil
}

// check admits entries in strictly ascending order of plain names.
func (w wireEntry) check(last string) error {
	switch {
	case checkName(w.Name) != "":
		return errors.New("a root entry without a plain name")
	case w.Name <= last:
		return errors.New("root entries out of order")
	case w.Size < 0 || w.Size > MaxFileBytes:
		return errors.New("a root entry of impossible size")
	}
	switch w.Type {
	case ecosystem.EntryFile, ecosystem.EntryDirectory, ecosystem.EntrySymlink:
		return nil
	default:
		return errors.New("a root entry of unknown type")
	}
}
