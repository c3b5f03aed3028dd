package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
)

// file is one file or symbolic link of a tree.
type file struct {
	path       string
	id         string
	size       int64
	executable bool
	link       bool
}

func unsupported(subject, message string) *wireRefusal {
	return &wireRefusal{Detail: v1alpha1.DetailTreeUnsupported, Subject: subject, Message: message}
}

// list returns all files of a tree, and refuses a tree that cannot be written
// exactly. It stops reading at the first thing that is too much: a few kilobytes
// of git objects can name billions of files.
func list(tree string) ([]file, error) {
	cmd, complaint := git("ls-tree", "-r", "-z", "-l", "--full-tree", tree)
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("list a tree: %w", err)
	}
	files, err := parseList(output)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed on purpose
		return nil, err
	}
	return files, blame(cmd.Wait(), "listing a tree", complaint)
}

func parseList(output io.Reader) ([]file, error) {
	in := bufio.NewReaderSize(output, 64<<10)
	var files []file
	var total int64
	known := newNames()
	for {
		record, err := in.ReadSlice(0)
		switch {
		case errors.Is(err, io.EOF) && len(record) == 0:
			return files, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, unsupported("", "it has a path longer than 1024 bytes")
		case err != nil:
			return nil, invalid("listing a tree was cut off")
		}
		f, err := parseFile(string(record[:len(record)-1]))
		if err != nil {
			return nil, err
		}
		if total += f.size; total > MaxTreeBytes {
			return nil, unsupported("", "its files have more than 1 GiB together")
		}
		if len(files) == MaxFiles {
			return nil, unsupported("", "it has more than 50,000 files")
		}
		if !known.add(f.path) {
			return nil, unsupported(f.path, "it names one path twice")
		}
		files = append(files, f)
	}
}

// parseFile reads one record of ls-tree -l: mode, type, id and size before a tab.
func parseFile(record string) (file, error) {
	head, path, ok := strings.Cut(record, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 4 || !objectID.MatchString(fields[2]) {
		return file{}, invalid("listing a tree gave a line that cannot be read")
	}
	if problem := checkPath(path); problem != "" {
		return file{}, unsupported(path, "it has "+problem)
	}
	f := file{path: path, id: fields[2]}
	switch mode := fields[0]; {
	case fields[1] == "commit" || mode == "160000":
		return file{}, unsupported(path, "it has a submodule, which is never fetched: vendor its files, or remove it from the commits of the proof")
	case fields[1] != "blob":
		return file{}, unsupported(path, "it has an entry that is no file")
	case mode == "100644" || mode == "100664":
	case mode == "100755":
		f.executable = true
	case mode == "120000":
		f.link = true
	default:
		return file{}, unsupported(path, "it has a file of unknown mode")
	}
	var err error
	if f.size, err = strconv.ParseInt(fields[3], 10, 64); err != nil || f.size < 0 {
		return file{}, invalid("listing a tree gave a line that cannot be read")
	}
	if f.size > MaxFileBytes {
		return file{}, unsupported(path, "it has a file larger than 256 MiB")
	}
	if f.link && (f.size == 0 || f.size > maxTarget) {
		return file{}, unsupported(path, "it has a symbolic link with an impossible target")
	}
	return f, nil
}

// names knows which paths are files and which are folders, so that no path passes
// through what an earlier one put there.
type names struct {
	folders, files map[string]bool
}

func newNames() *names { return &names{map[string]bool{}, map[string]bool{}} }

func (n *names) add(path string) bool {
	if n.files[path] || n.folders[path] {
		return false
	}
	n.files[path] = true
	for parent := path; ; {
		cut := strings.LastIndexByte(parent, '/')
		if cut < 0 {
			return true
		}
		if parent = parent[:cut]; n.files[parent] {
			return false
		}
		if n.folders[parent] {
			return true
		}
		n.folders[parent] = true
	}
}

// rootOf returns the entries of a tree's root, by name.
func rootOf(files []file) ([]wireEntry, error) {
	var root []wireEntry
	seen := map[string]bool{}
	for _, f := range files {
		name, _, nested := strings.Cut(f.path, "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		entry := wireEntry{Name: name, Type: ecosystem.EntryFile, Size: f.size}
		switch {
		case nested:
			entry = wireEntry{Name: name, Type: ecosystem.EntryDirectory}
		case f.link:
			entry = wireEntry{Name: name, Type: ecosystem.EntrySymlink}
		}
		root = append(root, entry)
	}
	if len(root) > MaxRootEntries {
		return nil, unsupported("", "its root has more than 5,000 entries")
	}
	slices.SortFunc(root, func(a, b wireEntry) int { return strings.Compare(a.Name, b.Name) })
	return root, nil
}
