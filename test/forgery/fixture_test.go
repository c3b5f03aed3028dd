package forgery

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

const fixtures = "../../fixtures/forgeries"

// kit is one ecosystem's fixtures and what runs them.
type kit struct {
	name, target string
	// needs are commands that must succeed on this machine.
	needs   [][]string
	runtime v1alpha1.Runtime
	// instead is pairs of a path of the worker and what stands for it on this machine.
	instead []string
	// install fills a folder with what is to be in each VM, once; nil if nothing.
	install func(t *testing.T, project, dir string)
	// least is how many fixtures there must be.
	least int
}

var (
	node = v1alpha1.Runtime{
		Name: "node-22", Language: v1alpha1.LanguageNode, Version: "22.23.5",
		Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemNPM, Version: "10.9.9"}},
	}
	python = v1alpha1.Runtime{
		Name: "python-3.13", Language: v1alpha1.LanguagePython, Version: "3.13.1",
		Managers: []v1alpha1.Manager{{Name: v1alpha1.EcosystemPip, Version: "25.0.1"}, {Name: v1alpha1.EcosystemUV, Version: "0.13.9"}},
	}
	npmWorks    = [][]string{{"node", "--version"}, {"npm", "--version"}}
	pytestWorks = [][]string{{"python3", "-c", "import pytest"}}
)

var kits = []kit{
	{name: "npm", target: "test/emoji.test.js", needs: npmWorks, runtime: node, least: 40},
	{name: "jest", target: "test/emoji.test.js", needs: npmWorks, runtime: node, least: 15, install: npmCI},
	{name: "mocha", target: "test/emoji.test.js", needs: npmWorks, runtime: node, least: 15, install: npmCI},
	{name: "vitest", target: "test/emoji.test.js", needs: npmWorks, runtime: node, least: 15, install: npmCI},
	{
		name: "pip", target: "tests/test_blanks.py", needs: pytestWorks, runtime: python, least: 20,
		instead: []string{"/opt/ztfc/env/bin/python", "python3"},
	},
	{
		name: "uv", target: "tests/test_blanks.py", needs: append(pytestWorks, []string{"uv", "--version"}), runtime: python, least: 15,
		instead: []string{"/usr/local/bin/uv", "uv", "/usr/local/bin/python", "python3"}, install: uvSync,
	},
}

// files are a tree: content by path.
type files map[string]string

// project is the regressionTest tree of the fixture.
func (k kit) project(t *testing.T) files {
	t.Helper()
	root, tree := filepath.Join(fixtures, k.name, "project"), files{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".pyc") {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		tree[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// candidate is one fixture: a candidate and the details it may be judged with. There
// are two where it races the runner for the report, or where versions of Node differ.
type candidate struct {
	name, does string
	want       []string
	change     func(files) files
}

var (
	header  = regexp.MustCompile(`\A# (.+)\n# want: ([a-z_]+)(?: or ([a-z_]+))?\n`)
	section = regexp.MustCompile(`(?m)^-- (\S+?)( \(deleted\))? --\n`)
)

func (k kit) candidates(t *testing.T) []candidate {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(fixtures, k.name, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []candidate
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parse(string(content))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		c.name = strings.TrimSuffix(filepath.Base(path), ".txt")
		all = append(all, c)
	}
	return all
}

func parse(text string) (candidate, error) {
	head := header.FindStringSubmatch(text)
	marks := section.FindAllStringSubmatchIndex(text, -1)
	if head == nil || len(marks) == 0 {
		return candidate{}, fmt.Errorf("it has no header or no section")
	}
	written, deleted := files{}, []string{}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		if name := text[m[2]:m[3]]; m[4] >= 0 {
			deleted = append(deleted, name)
		} else {
			written[name] = text[m[1]:end]
		}
	}
	return candidate{does: head[1], want: head[2:], change: func(tree files) files {
		tree = maps.Clone(tree)
		maps.Copy(tree, written)
		for _, name := range deleted {
			delete(tree, name)
		}
		return tree
	}}, nil
}
