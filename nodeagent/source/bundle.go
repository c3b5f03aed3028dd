package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

func invalid(format string, args ...any) *wireRefusal {
	return &wireRefusal{Detail: v1alpha1.DetailBundleInvalid, Message: fmt.Sprintf(format, args...)}
}

// readHeader reads a bundle's header and leaves the reader at its pack. See
// gitformat-bundle(5). References are skipped: commits are named by id.
func readHeader(in *bufio.Reader) error {
	left := maxHeader
	signature, err := readLine(in, &left)
	if err != nil || signature != "# v2 git bundle" && signature != "# v3 git bundle" {
		return invalid("it is not a git bundle: pack one with git bundle create")
	}
	for {
		line, err := readLine(in, &left)
		switch {
		case err != nil:
			return err
		case line == "":
			return nil
		case line == "@object-format=sha1":
		case line[0] == '@':
			return invalid("it needs a capability that is not supported: pack all objects of a SHA-1 repository, without a filter")
		case line[0] == '-':
			return invalid("it needs commits that it does not have: pack the full history, without excluding any commit")
		default:
			id, _, _ := strings.Cut(line, " ")
			if !objectID.MatchString(id) {
				return invalid("its header is damaged")
			}
		}
	}
}

func readLine(in *bufio.Reader, left *int) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if *left -= len(part); *left < 0 {
			return "", invalid("its header has more than %d bytes", maxHeader)
		}
		switch {
		case err == nil:
			return string(line[:len(line)-1]), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return "", invalid("it is cut off in its header")
		default:
			return "", err
		}
	}
}

// readBundle indexes the bundle that in is at and reads the trees asked for.
func readBundle(in *bufio.Reader, r request) (answer, error) {
	if err := readHeader(in); err != nil {
		return answer{}, err
	}
	if err := index(in); err != nil {
		return answer{}, err
	}
	var a answer
	listings := map[v1alpha1.TreeName][]file{}
	for _, wanted := range r.Trees {
		tree, files, err := readTree(wanted, r.Wanted)
		if err != nil {
			return answer{}, err
		}
		a.Trees = append(a.Trees, tree)
		listings[wanted.Name] = files
	}
	var err error
	a.Protected, err = protectedOf(r, a.Trees, listings)
	return a, err
}

// readTree finds a commit and looks at its whole tree.
func readTree(wanted wantedTree, contents map[string]int64) (wireTree, []file, error) {
	id, err := treeOf(wanted)
	if err != nil {
		return wireTree{}, nil, err
	}
	tree := wireTree{Name: wanted.Name, Commit: wanted.Commit, TreeID: id}
	files, err := list(id)
	if err != nil {
		return wireTree{}, nil, err
	}
	tree.Files = len(files)
	if err := findTargets(files, wanted); err != nil {
		return wireTree{}, nil, err
	}
	if tree.Root, err = rootOf(files); err != nil {
		return wireTree{}, nil, err
	}
	tree.Content, err = contentsOf(files, contents)
	return tree, files, err
}

func findTargets(files []file, wanted wantedTree) error {
	regular := map[string]bool{}
	for _, f := range files {
		regular[f.path] = !f.link
	}
	for _, target := range wanted.Targets {
		if !regular[target] {
			return &wireRefusal{
				Detail: v1alpha1.DetailTargetMissing, Subject: target,
				Message: fmt.Sprintf("the %s tree has no such file; targets are files of the regression test, in both trees that run it", wanted.Name),
			}
		}
	}
	return nil
}
