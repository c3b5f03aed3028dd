package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
)

func TestAGoodBundleIsRead(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(map[string]string{"link": "-> /etc/passwd", "docs/a": "1"})
	bundle := r.bundle(candidate)
	s, err := read(t, &Reader{}, bundle, proofOf(base, regression, candidate))
	if err != nil {
		t.Fatal(err)
	}
	for name, commit := range map[v1alpha1.TreeName]string{
		v1alpha1.TreeBase: base, v1alpha1.TreeRegressionTest: regression, v1alpha1.TreeCandidate: candidate,
	} {
		tree := s.Trees[name]
		if tree.Commit != commit || tree.TreeID != r.git("", "rev-parse", commit+"^{tree}") {
			t.Errorf("%s is %+v", name, tree)
		}
	}
	if got := s.Trees[v1alpha1.TreeBase].Files; got != 6 {
		t.Errorf("base has %d files, want 6", got)
	}
	want := []ecosystem.Entry{
		{Name: "docs", Type: ecosystem.EntryDirectory}, {Name: "link", Type: ecosystem.EntrySymlink},
		{Name: "package-lock.json", Type: ecosystem.EntryFile, Size: 21}, {Name: "package.json", Type: ecosystem.EntryFile, Size: 12},
		{Name: "run", Type: ecosystem.EntryFile, Size: 10}, {Name: "src", Type: ecosystem.EntryDirectory},
	}
	if got := s.Trees[v1alpha1.TreeBase].Root.Names; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("root is %v, want %v", got, want)
	}
	if !strings.HasPrefix(s.Digest, "sha256:") || len(s.Digest) != 71 {
		t.Errorf("digest %q", s.Digest)
	}
}

func TestWantedFilesAreRead(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(nil)
	box, err := (&Reader{}).newSandbox(t.TempDir(), testUID)
	if err != nil {
		t.Fatal(err)
	}
	defer box.remove()
	read, err := box.read(t.Context(), request{
		Trees:  treesOf(proofOf(base, regression, candidate)),
		Wanted: map[string]int64{"package.json": 100, "package-lock.json": 5, "absent": 10, "src": 10},
	}, r.bundle(candidate))
	if err != nil {
		t.Fatal(err)
	}
	content := read.trees[v1alpha1.TreeCandidate].Root.Content
	if len(content) != 1 || string(content["package.json"]) != `{"name":"x"}` {
		t.Errorf("content %q: only files within their bound are read", content)
	}
}

// hostile is a bundle and the refusal it must meet.
type hostile struct {
	bundle []byte
	proof  v1alpha1.Proof
	want   v1alpha1.Detail
	say    string
}

func TestBadBundlesAreRefused(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(nil)
	good, proof := r.bundle(candidate), proofOf(base, regression, candidate)
	absent := strings.Repeat("a", 40)
	tagged := r.raw("tag", "object "+candidate+"\ntype commit\ntag v1\ntagger a <a@example.org> 1 +0000\n\nm\n")
	tree := r.git("", "rev-parse", candidate+"^{tree}")
	blob := r.git("", "rev-parse", candidate+":run")
	withTag := r.bundle(tagged)
	headerEnd := bytes.Index(good, []byte("\n\n"))
	with := func(line string) []byte {
		return append(append([]byte("# v2 git bundle\n"), line...), good[len("# v2 git bundle\n"):]...)
	}
	commitLacksParent := r.bundleOf(strings.Split(r.git("", "rev-list", "--objects", "--no-object-names", candidate, "^"+base), "\n"), candidate)
	corrupt := bytes.Clone(good)
	corrupt[headerEnd+40] ^= 0xff
	for name, tc := range map[string]hostile{
		"an empty bundle":                {nil, proof, v1alpha1.DetailBundleMissing, "empty"},
		"a bundle that is too large":     {make([]byte, MaxBundle+1), proof, v1alpha1.DetailBundleTooLarge, "bytes"},
		"text that is not a bundle":      {[]byte("hello\nworld\n"), proof, v1alpha1.DetailBundleInvalid, "not a git bundle"},
		"random bytes":                   {bytes.Repeat([]byte{0, 0xff, 7}, 5000), proof, v1alpha1.DetailBundleInvalid, "not a git bundle"},
		"a bundle cut off in its header": {good[:headerEnd-3], proof, v1alpha1.DetailBundleInvalid, "header"},
		"a bundle cut off in its pack":   {good[:len(good)-30], proof, v1alpha1.DetailBundleInvalid, "pack"},
		"a bundle without its pack":      {good[:headerEnd+2], proof, v1alpha1.DetailBundleInvalid, "pack"},
		"a bundle with a bit flipped":    {corrupt, proof, v1alpha1.DetailBundleInvalid, "pack"},
		"a bundle with prerequisites":    {with("-" + base + " base\n"), proof, v1alpha1.DetailBundleInvalid, "full history"},
		"a bundle of a partial clone":    {with("@filter=blob:none\n"), proof, v1alpha1.DetailBundleInvalid, "capability"},
		"a bundle of SHA-256 objects":    {with("@object-format=sha256\n"), proof, v1alpha1.DetailBundleInvalid, "capability"},
		"a header line that is an option": {with("--upload-pack=touch /tmp/x\n"), proof,
			v1alpha1.DetailBundleInvalid, "full history"},
		"a header line that is a URL":       {with("ext::sh -c id\n"), proof, v1alpha1.DetailBundleInvalid, "damaged"},
		"a header without an end":           {with(strings.Repeat(absent+" refs/x\n", 30000)), proof, v1alpha1.DetailBundleInvalid, "header"},
		"a history with a hole":             {commitLacksParent, proof, v1alpha1.DetailBundleInvalid, "pack"},
		"a commit the bundle does not have": {good, proofOf(absent, regression, candidate), v1alpha1.DetailCommitNotInBundle, absent},
		"a tag in place of a commit":        {withTag, proofOf(base, regression, tagged), v1alpha1.DetailCommitNotInBundle, tagged},
		"a tree in place of a commit":       {good, proofOf(tree, regression, candidate), v1alpha1.DetailCommitNotInBundle, tree},
		"a file in place of a commit":       {good, proofOf(base, blob, candidate), v1alpha1.DetailCommitNotInBundle, blob},
		"an option in place of a commit": {good, proofOf("--upload-pack=touch${IFS}/tmp/zt-x;aaaaaaaaaaaaaa", regression, candidate),
			v1alpha1.DetailCommitNotInBundle, "object id"},
		"a branch name in place of a commit": {good, proofOf("HEAD", regression, candidate), v1alpha1.DetailCommitNotInBundle, "object id"},
		"a commit id with a newline":         {good, proofOf(base, regression, candidate+"\n"), v1alpha1.DetailCommitNotInBundle, "object id"},
		"a target only the base lacks":       {good, proofOf(base, base, candidate), v1alpha1.DetailTargetMissing, "RegressionTest"},
		"a target the candidate removed":     {good, proofOf(base, regression, base), v1alpha1.DetailTargetMissing, "Candidate"},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t) })
	}
}

func (h hostile) check(t *testing.T) {
	t.Helper()
	_, err := read(t, &Reader{}, h.bundle, h.proof)
	var refused *ecosystem.Refusal
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a refusal", err)
	}
	if refused.Detail != h.want || !strings.Contains(refused.Message, h.say) {
		t.Errorf("got %v, want %s with %q", refused, h.want, h.say)
	}
	t.Log(refused)
}

func TestACandidateThatChangesWhatJudgesItIsRefused(t *testing.T) {
	r := newRepo(t)
	trusted := map[string]string{
		"package.json": `{"scripts":{"test":"node ./run-tests --test"}}`, "run-tests.js": "run", "src/index.js": "bug",
		"test/bug.test.js": "test", "test/data.json": "{}",
	}
	base := r.commit(r.tree(trusted))
	for name, tc := range map[string]struct {
		change  map[string]string
		subject string
	}{
		"a changed target":             {map[string]string{"test/bug.test.js": "forged"}, "test/bug.test.js"},
		"a target that became a link":  {map[string]string{"test/bug.test.js": "-> ../src/index.js"}, ""},
		"a target that is now run":     {map[string]string{"test/bug.test.js": "+x test"}, "test/bug.test.js"},
		"changed data of tests":        {map[string]string{"test/data.json": "[]"}, "test/data.json"},
		"a changed runner of its own":  {map[string]string{"run-tests.js": "true"}, "run-tests.js"},
		"a runner's configuration":     {map[string]string{"vitest.config.mjs": "forged"}, "vitest.config.mjs"},
		"modules beside the tests":     {map[string]string{"test/node_modules/a/index.js": "forged"}, "test/node_modules/a/index.js"},
		"a path that may not be shown": {map[string]string{"test/x y/conftest.py": "forged"}, "test"},
	} {
		files := maps.Clone(trusted)
		maps.Copy(files, tc.change)
		candidate := r.commit(r.tree(files), base)
		_, err := read(t, &Reader{}, r.bundle(candidate), proofOf(base, base, candidate))
		var refused *ecosystem.Refusal
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		want := v1alpha1.DetailProtectedPathChanged
		if tc.subject == "" && name == "a target that became a link" {
			want, tc.subject = v1alpha1.DetailTargetMissing, "test/bug.test.js"
		}
		if refused.Detail != want || refused.Subject != tc.subject {
			t.Errorf("%s: got %+v", name, refused)
		}
	}
}

func TestProtectedFilesAreToldWithTheirIDs(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(map[string]string{
		"test/big.bin": strings.Repeat("x", 1<<20+1), "test/link": "-> big.bin", "test/old.test.js": "an older test",
	})
	s, err := read(t, &Reader{}, r.bundle(candidate), proofOf(base, regression, candidate))
	if err != nil {
		t.Fatal(err)
	}
	want := []ProtectedFile{
		{Path: "test/bug.test.js", ID: r.git("", "rev-parse", candidate+":test/bug.test.js")},
		{Path: "test/old.test.js", ID: r.git("", "rev-parse", base+":test/old.test.js"), InBase: true},
	}
	if !slices.Equal(s.Protected, want) {
		t.Errorf("got %+v, want %+v: what the broker can read back", s.Protected, want)
	}
}

func TestTargetsMustBeFiles(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(map[string]string{"link.test.js": "-> run"})
	bundle := r.bundle(candidate)
	for name, target := range map[string]string{
		"a folder": "test", "a link": "link.test.js", "an option": "--eval=1", "a path that climbs": "../x", "an absolute path": "/etc/passwd",
	} {
		t.Run(name, func(t *testing.T) {
			proof := proofOf(base, regression, candidate)
			proof.Targets = []v1alpha1.TargetPath{v1alpha1.TargetPath(target)}
			hostile{bundle, proof, v1alpha1.DetailTargetMissing, "no such file"}.check(t)
		})
	}
}

func TestTreesThatCannotBeWrittenExactlyAreRefused(t *testing.T) {
	r := newRepo(t)
	blob := r.blob("x")
	good := treeEntry{"100644", "ok", blob}
	deep := r.rawTree(good)
	for range MaxDepth {
		deep = r.rawTree(treeEntry{"40000", "d", deep})
	}
	// Ten levels of ten: ten objects, ten billion files.
	wide := r.rawTree(good)
	for range 10 {
		var entries []treeEntry
		for i := range 10 {
			entries = append(entries, treeEntry{"40000", fmt.Sprint("d", i), wide})
		}
		wide = r.rawTree(entries...)
	}
	many := make([]treeEntry, MaxRootEntries+1)
	for i := range many {
		many[i] = treeEntry{"100644", fmt.Sprintf("f%06d", i), blob}
	}
	for name, tc := range map[string]struct {
		tree string
		want v1alpha1.Detail
		say  string
	}{
		"a submodule":             {r.rawTree(treeEntry{"160000", "vendor", strings.Repeat("1", 40)}), v1alpha1.DetailTreeUnsupported, "submodule"},
		"a .git folder":           {r.rawTree(treeEntry{"40000", ".git", r.rawTree(good)}), v1alpha1.DetailBundleInvalid, "pack"},
		"a .GiT folder":           {r.rawTree(treeEntry{"40000", ".GiT", r.rawTree(good)}), v1alpha1.DetailBundleInvalid, "pack"},
		"a .git file deep inside": {r.rawTree(treeEntry{"40000", "a", r.rawTree(treeEntry{"100644", ".git", blob})}), v1alpha1.DetailBundleInvalid, "pack"},
		"a name of two dots":      {r.rawTree(treeEntry{"40000", "..", r.rawTree(good)}), v1alpha1.DetailBundleInvalid, "pack"},
		"a name of one dot":       {r.rawTree(treeEntry{"100644", ".", blob}), v1alpha1.DetailBundleInvalid, "pack"},
		"an empty name":           {r.rawTree(treeEntry{"100644", "", blob}), v1alpha1.DetailBundleInvalid, "pack"},
		"a name with a slash":     {r.rawTree(treeEntry{"100644", "../../x", blob}), v1alpha1.DetailBundleInvalid, "pack"},
		"one name twice":          {r.rawTree(good, good), v1alpha1.DetailBundleInvalid, "pack"},
		"a link and a folder of one name": {r.rawTree(treeEntry{"120000", "a", blob}, treeEntry{"40000", "a", r.rawTree(good)}),
			v1alpha1.DetailBundleInvalid, "pack"},
		"a name with a carriage return":   {r.rawTree(treeEntry{"100644", "a\r", blob}), v1alpha1.DetailTreeUnsupported, "control"},
		"a name with a newline":           {r.rawTree(treeEntry{"100644", "a\nb", blob}), v1alpha1.DetailTreeUnsupported, "control"},
		"a name with a terminal escape":   {r.rawTree(treeEntry{"100644", "\x1b[31m", blob}), v1alpha1.DetailTreeUnsupported, "control"},
		"a name that is not UTF-8":        {r.rawTree(treeEntry{"100644", "caf\xe9", blob}), v1alpha1.DetailTreeUnsupported, "UTF-8"},
		"a name no file system takes":     {r.rawTree(treeEntry{"100644", strings.Repeat("n", 256), blob}), v1alpha1.DetailTreeUnsupported, "255"},
		"a path deeper than any honest":   {deep, v1alpha1.DetailTreeUnsupported, "deeper"},
		"ten billion files in ten trees":  {wide, v1alpha1.DetailTreeUnsupported, "50,000"},
		"a root of too many entries":      {r.rawTree(many...), v1alpha1.DetailTreeUnsupported, "5,000"},
		"a link without a target":         {r.rawTree(treeEntry{"120000", "l", r.blob("")}), v1alpha1.DetailTreeUnsupported, "target"},
		"a link with an endless target":   {r.rawTree(treeEntry{"120000", "l", r.blob(strings.Repeat("x", 5000))}), v1alpha1.DetailTreeUnsupported, "target"},
		"a device":                        {r.rawTree(treeEntry{"20644", "dev", blob}), v1alpha1.DetailTreeUnsupported, "submodule"},
		"a tree that is a file":           {r.rawTree(treeEntry{"40000", "d", blob}), v1alpha1.DetailBundleInvalid, ""},
		"a file the bundle does not have": {r.rawTree(treeEntry{"100644", "gone", strings.Repeat("2", 40)}), v1alpha1.DetailBundleInvalid, "pack"},
	} {
		t.Run(name, func(t *testing.T) {
			base := r.raw("commit", "tree "+tc.tree+"\nauthor a <a@example.org> 1 +0000\ncommitter a <a@example.org> 1 +0000\n\nm\n")
			bundle := r.bundleOf(r.reachable(base), base)
			hostile{bundle, proofOf(base, base, base), tc.want, tc.say}.check(t)
		})
	}
}

// reachable lists the objects below a commit, hostile as they may be; rev-list
// gives up on some.
func (r *repo) reachable(commit string) []string {
	seen := map[string]bool{}
	var walk func(id, kind string)
	walk = func(id, kind string) {
		if seen[id] {
			return
		}
		seen[id] = true
		if kind != "tree" {
			return
		}
		content := r.git("", "cat-file", "tree", id)
		raw := []byte(content)
		for len(raw) > 20 {
			space, nul := bytes.IndexByte(raw, ' '), bytes.IndexByte(raw, 0)
			if space < 0 || nul < 0 || nul+21 > len(raw)+1 {
				return
			}
			mode, child := string(raw[:space]), fmt.Sprintf("%x", raw[nul+1:min(nul+21, len(raw))])
			raw = raw[min(nul+21, len(raw)):]
			if mode == "160000" || len(child) != 40 || seen[child] || r.missing(child) {
				continue
			}
			kind := "blob"
			if mode == "40000" && r.git("", "cat-file", "-t", child) == "tree" {
				kind = "tree"
			}
			walk(child, kind)
		}
	}
	tree := strings.Fields(r.git("", "cat-file", "commit", commit))[1]
	walk(tree, "tree")
	ids := []string{commit}
	for id := range seen {
		ids = append(ids, id)
	}
	return ids
}

func (r *repo) missing(id string) bool {
	return strings.HasSuffix(r.git(id+"\n", "cat-file", "--batch-check"), "missing")
}

func TestDecompressionBombsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("compresses 400 MiB")
	}
	r := newRepo(t)
	zeros := strings.Repeat("\x00", 64<<20)
	large, small := r.blob(strings.Repeat(zeros, 5)), r.blob(zeros)
	var many []treeEntry
	for i := range 17 {
		many = append(many, treeEntry{"100644", fmt.Sprintf("f%02d", i), small})
	}
	for name, tree := range map[string]string{
		"one file over its bound": r.rawTree(treeEntry{"100644", "big", large}),
		"many names for one file": r.rawTree(many...),
	} {
		t.Run(name, func(t *testing.T) {
			commit := r.commit(tree)
			hostile{r.bundle(commit), proofOf(commit, commit, commit), v1alpha1.DetailTreeUnsupported, "iB"}.check(t)
		})
	}
}

func TestOldHistoriesAreRead(t *testing.T) {
	r := newRepo(t)
	tree := r.tree(map[string]string{"test/bug.test.js": "x"})
	old := r.raw("commit", "tree "+tree+"\nauthor a <a> 1 +051800\ncommitter a <> 1 +0000\n\nm\n")
	if _, err := read(t, &Reader{}, r.bundle(old), proofOf(old, old, old)); err != nil {
		t.Error(err)
	}
}

func TestRealBundlesOfGitAreRead(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(nil)
	r.git("", "update-ref", "refs/heads/main", candidate)
	for _, version := range []string{"2", "3"} {
		path := t.TempDir() + "/b"
		r.git("", "bundle", "create", "--quiet", "--version="+version, path, "main")
		bundle, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(t, &Reader{}, bundle, proofOf(base, regression, candidate)); err != nil {
			t.Errorf("version %s: %v", version, err)
		}
	}
}

func TestACancelledReadEndsAtOnce(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(nil)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err := (&Reader{}).Read(ctx, r.bundle(candidate), proofOf(base, regression, candidate), dir, testUID)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	assertNothingLeft(t, dir)
}

func TestASlowReadIsRefused(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(nil)
	_, err := read(t, &Reader{readTime: time.Millisecond}, r.bundle(candidate), proofOf(base, regression, candidate))
	var refused *ecosystem.Refusal
	if !errors.As(err, &refused) || refused.Detail != v1alpha1.DetailBundleInvalid {
		t.Errorf("got %v", err)
	}
}

func TestRootIsNoChild(t *testing.T) {
	r := newRepo(t)
	base, regression, candidate := r.three(nil)
	dir := t.TempDir()
	if _, err := (&Reader{}).Read(t.Context(), r.bundle(candidate), proofOf(base, regression, candidate), dir, 0); err == nil {
		t.Error("a child with root's uid was started")
	}
	assertNothingLeft(t, dir)
}
