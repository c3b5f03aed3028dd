package pip

import (
	"errors"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/refusal"
)

func FuzzDetect(f *testing.F) {
	for _, content := range curious() {
		f.Add([]byte(content + "\n" + runner))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root := locking(string(data))
		detection, err := Detect(root)
		var refused *refusal.Refusal
		if err != nil && !errors.As(err, &refused) {
			t.Fatalf("the error is no refusal: %v", err)
		}
		artifacts, failed := Artifacts(root)
		if err == nil && (failed != nil || len(artifacts) != detection.Packages) {
			t.Fatalf("%d packages detected, %d listed: %v", detection.Packages, len(artifacts), failed)
		}
		for _, a := range artifacts {
			if a.Name == "" || a.Version == "" || len(a.Digests) == 0 || len(a.Digests[0]) != 32 {
				t.Fatalf("an incomplete artifact: %+v", a)
			}
		}
		for _, line := range logicalLines(string(data)) {
			if strings.TrimFunc(line, isSpace) != line || line == "" {
				t.Fatalf("a line that pip does not yield: %q", line)
			}
		}
	})
}
