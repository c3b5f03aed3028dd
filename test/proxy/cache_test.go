//go:build proxy

package proxy

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
)

// auditMirror checks every file in a real mirror's storage against the lockfile of a
// project that was installed from it, as a run does, and returns how often each
// finding came.
func auditMirror(t *testing.T, kind v1alpha1.Ecosystem, storage, project string) map[lockindex.Finding]int {
	t.Helper()
	index := indexOf(t, project)
	list := cacheaudit.Make(context.Background(), os.DirFS(storage))
	if list.Problem != "" {
		t.Fatalf("the list is not whole: %s", list.Problem)
	}
	findings := map[lockindex.Finding]int{}
	for _, file := range list.Artifacts {
		short, long := file.Digests()
		finding := index.Check(lockindex.Artifact{URL: cacheaudit.URL(kind, file.Path), SHA256: short, SHA512: long})
		if findings[finding]++; finding != lockindex.Admitted && finding != lockindex.MetadataOnly {
			t.Logf("%s: %s", finding, file.Path)
		}
	}
	return findings
}

func indexOf(t *testing.T, project string) *lockindex.Index {
	t.Helper()
	root := rootOf(t, project)
	detection, err := ecosystem.Detect(root)
	if err != nil {
		t.Fatal(err)
	}
	index, err := lockindex.Build(root, detection)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// rootOf reads the files in a project's root folder.
func rootOf(t *testing.T, project string) ecosystem.RootFiles {
	t.Helper()
	root := ecosystem.RootFiles{Content: map[string][]byte{}}
	entries, err := os.ReadDir(project)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(project, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		root.Names = append(root.Names, ecosystem.Entry{Name: entry.Name(), Type: "file", Size: int64(len(text))})
		root.Content[entry.Name()] = text
	}
	return root
}
