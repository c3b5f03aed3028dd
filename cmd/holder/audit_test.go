package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
)

func TestTheListIsOfTheStorageFolderAndNothingElse(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	storage := t.TempDir()
	for path, text := range map[string]string{outside: "abc", filepath.Join(storage, "a.tgz"): "abc"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"file.tgz": outside, "folder": filepath.Dir(outside)} {
		if err := os.Symlink(target, filepath.Join(storage, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(storage)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	server := httptest.NewServer(artifacts(root))
	defer server.Close()
	response, err := http.Get(server.URL + "/artifacts")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	list, _, err := cacheaudit.Parse(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 {
		t.Fatalf("listed %+v, want one file and two links", list)
	}
	for _, a := range list {
		if digest, _ := a.Digests(); (digest != nil) != (a.Path == "a.tgz") {
			t.Errorf("%s has the digest %x", a.Path, digest)
		}
	}
}

func TestOtherRequestsGetNothing(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, request := range []*http.Request{
		httptest.NewRequest("POST", "/artifacts", nil), httptest.NewRequest("GET", "/", nil), httptest.NewRequest("GET", "/artifacts/a", nil),
	} {
		answer := httptest.NewRecorder()
		artifacts(root).ServeHTTP(answer, request)
		if answer.Code < 400 {
			t.Errorf("%s %s: %d", request.Method, request.URL, answer.Code)
		}
	}
}
