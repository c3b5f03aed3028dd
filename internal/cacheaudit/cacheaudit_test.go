package cacheaudit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
)

// Digests of "abc", from FIPS 180.
const (
	abc256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	abc512 = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestEveryFileButTheMirrorsRecordsIsListed(t *testing.T) {
	list := Make(context.Background(), fstest.MapFS{
		"ms/ms-2.1.3.tgz":                             file("abc"),
		"ms/package.json":                             file("{}"),
		"ms/ms-2.1.3.tgz.tmp-0123":                    file("ab"),
		".verdaccio-db.json":                          file("{}"),
		"@types/node/node-1.0.0.tgz":                  file("abc"),
		"surprise":                                    file("x"),
		"evil\n/x\u202e.tgz":                          file("x"),
		"link.tgz":                                    {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")},
		"files-pythonhosted-org/a.whl":                file("abc"),
		"files-pythonhosted-org/b.whl.metadata":       file("abc"),
		"files-pythonhosted-org/c.whl.proxpi-partial": file("a"),
	})
	var paths []string
	for _, a := range list.Artifacts {
		paths = append(paths, a.Path)
	}
	want := `"evil\n/x\u202e.tgz" @types/node/node-1.0.0.tgz files-pythonhosted-org/a.whl files-pythonhosted-org/b.whl.metadata link.tgz ms/ms-2.1.3.tgz surprise`
	if got := strings.Join(paths, " "); got != want || list.Problem != "" || list.Unfinished != 2 {
		t.Errorf("listed %s and %d unfinished (%s), want %s and 2", got, list.Unfinished, list.Problem, want)
	}
	for _, a := range list.Artifacts {
		switch a.Path {
		case "ms/ms-2.1.3.tgz":
			if a.SHA256 != abc256 || a.SHA512 != abc512 || a.Size != 3 {
				t.Errorf("%+v", a)
			}
		case "link.tgz":
			if a.SHA256 != "" || a.SHA512 != "" {
				t.Errorf("a link was followed: %+v", a)
			}
		}
	}
}

type failing struct{ fs.FS }

func (failing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("disk is broken")}
}

func TestAListThatIsNotWholeSaysSo(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	full := fstest.MapFS{}
	for i := range MaxArtifacts + 1 {
		full["d/"+strings.Repeat("a", 1+i%200)+strings.Repeat("b", i/200)] = file("")
	}
	for name, list := range map[string]List{
		"no time":        Make(ended, fstest.MapFS{"a/b": file("")}),
		"no storage":     Make(context.Background(), failing{}),
		"too many files": Make(context.Background(), full),
	} {
		if list.Problem == "" {
			t.Errorf("%s: %d files, no problem", name, len(list.Artifacts))
		}
		if _, _, err := Parse(strings.NewReader(encode(t, list))); err == nil {
			t.Errorf("%s: the list is taken for whole", name)
		}
	}
}

func encode(t *testing.T, list List) string {
	t.Helper()
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func one(change func(*Artifact)) List {
	a := Artifact{Path: "ms/ms-2.1.3.tgz", Size: 3, SHA256: abc256, SHA512: abc512}
	change(&a)
	return List{Version: 1, Artifacts: []Artifact{a}}
}

func TestOnlyAWholeListIsRead(t *testing.T) {
	good := encode(t, one(func(*Artifact) {}))
	twice := one(func(*Artifact) {})
	twice.Artifacts = append(twice.Artifacts, twice.Artifacts[0])
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"a list":                    {good, true},
		"an empty list":             {`{"version":1,"artifacts":[]}`, true},
		"a file without digests":    {encode(t, one(func(a *Artifact) { a.SHA256, a.SHA512 = "", "" })), true},
		"nothing":                   {"", false},
		"no list":                   {`{"version":1}`, false},
		"null":                      {`null`, false},
		"another version":           {`{"version":2,"artifacts":[]}`, false},
		"a problem":                 {`{"version":1,"artifacts":[],"problem":"no"}`, false},
		"an unknown field":          {`{"version":1,"artifacts":[],"ok":true}`, false},
		"something behind it":       {good + "{}", false},
		"a cut list":                {good[:len(good)-1], false},
		"a short digest":            {encode(t, one(func(a *Artifact) { a.SHA256 = "ab" })), false},
		"a digest in capitals":      {encode(t, one(func(a *Artifact) { a.SHA256 = strings.ToUpper(abc256) })), false},
		"a digest of other letters": {encode(t, one(func(a *Artifact) { a.SHA512 = strings.Repeat("x", 128) })), false},
		"a negative size":           {encode(t, one(func(a *Artifact) { a.Size = -1 })), false},
		"no path":                   {encode(t, one(func(a *Artifact) { a.Path = "" })), false},
		"a long path":               {encode(t, one(func(a *Artifact) { a.Path = strings.Repeat("a", maxPath+1) })), false},
		"one file twice":            {encode(t, twice), false},
		"more than the limit":       {`{"version":1,"artifacts":[` + strings.Repeat(" ", MaxListBytes) + `]}`, false},
		"nesting without an end":    {strings.Repeat("[", 1<<20), false},
	} {
		if _, _, err := Parse(strings.NewReader(tc.text)); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFilesURLFollowsFromTheMirrorsLayout(t *testing.T) {
	const wheel = "/packages/ab/cd/0123/six-1.17.0-py3-none-any.whl"
	for file, want := range map[string]string{
		"ms/ms-2.1.3.tgz":            "/ms/-/ms-2.1.3.tgz",
		"@types/node/node-1.0.0.tgz": "/@types/node/-/node-1.0.0.tgz",
		"ms-2.1.3.tgz":               "",
		"../ms/ms-2.1.3.tgz":         "",
		`"ms/\u202e.tgz"`:            "",
	} {
		if got := URL(v1alpha1.EcosystemNPM, file); got != want {
			t.Errorf("npm %s: %q, want %q", file, got, want)
		}
	}
	for file, want := range map[string]string{
		"files-pythonhosted-org" + wheel: wheel,
		"evil-test" + wheel:              "",
		wheel[1:]:                        "",
	} {
		if got := URL(v1alpha1.EcosystemUV, file); got != want {
			t.Errorf("uv %s: %q, want %q", file, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"artifacts":[{"path":"ms/ms-2.1.3.tgz","size":3,"sha256":"` + abc256 + `","sha512":"` + abc512 + `"}]}`))
	f.Add([]byte(`{"version":1,"artifacts":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		artifacts, _, err := Parse(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, a := range artifacts {
			if short, long := a.Digests(); short != nil && (len(short) != 32 || len(long) != 64) {
				t.Errorf("digests of %d and %d bytes", len(short), len(long))
			}
			if url := URL(v1alpha1.EcosystemNPM, a.Path); url != "" && (url[0] != '/' || strings.Contains(url, "\n")) {
				t.Errorf("%q", url)
			}
		}
	})
}
