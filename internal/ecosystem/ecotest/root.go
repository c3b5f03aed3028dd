package ecotest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
)

// Root makes a root of regular files by name and content.
func Root(files map[string]string) model.RootFiles {
	root := model.RootFiles{Content: map[string][]byte{}}
	for name, content := range files {
		root.Names = append(root.Names, model.Entry{Name: name, Type: model.EntryFile, Size: int64(len(content))})
		root.Content[name] = []byte(content)
	}
	return root
}

// Folder writes the root's files into a new folder of the test.
func Folder(t testing.TB, root model.RootFiles) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range root.Content {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
