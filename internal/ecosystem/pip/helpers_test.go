package pip

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/ecosystem/ecotest"
	"github.com/ai-dossier/zt-operator/internal/ecosystem/model"
)

const (
	hashA = "sha256:5cd6f3d4a1b6f9d9e6c7a4a3f6d90a4d0bb5e2c9a7b7a1c9a5b1e0d3c2f1a0b9"
	hashB = "sha256:0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c0d1e"
	// runner is the line that every accepted file has.
	runner = "pytest==9.2.0 --hash=" + hashA + "\n"
)

func locking(content string) model.RootFiles {
	return ecotest.Root(map[string]string{Lockfile: content})
}

// names are the normalised names and canonical versions, in order.
func names(t *testing.T, content string) string {
	t.Helper()
	artifacts, err := Artifacts(locking(content))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range artifacts {
		all = append(all, a.Name+" "+a.Version)
	}
	return strings.Join(all, ", ")
}
