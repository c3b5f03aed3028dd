package engine

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// locked is the root of a tree that locks packages with the given bytes.
func locked(packages map[string]string) ecosystem.RootFiles {
	var entries []string
	for name, text := range packages {
		digest := sha512.Sum512([]byte(text))
		entries = append(entries, fmt.Sprintf(
			`"node_modules/%[1]s":{"version":"1.0.0","resolved":"https://registry.npmjs.org/%[1]s/-/%[1]s-1.0.0.tgz","integrity":"sha512-%[2]s"}`,
			name, base64.StdEncoding.EncodeToString(digest[:])))
	}
	var dependencies []string
	for name := range packages {
		dependencies = append(dependencies, fmt.Sprintf(`%q:"1.0.0"`, name))
	}
	root := strings.Join(dependencies, ",")
	files := map[string]string{
		"package.json":      `{"name":"x","version":"1.0.0","scripts":{"test":"node --test"},"engines":{"node":">=20"},"dependencies":{` + root + `}}`,
		"package-lock.json": `{"name":"x","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"x","version":"1.0.0","dependencies":{` + root + `}},` + strings.Join(entries, ",") + `}}`,
	}
	out := ecosystem.RootFiles{Content: map[string][]byte{}}
	for name, text := range files {
		out.Names = append(out.Names, ecosystem.Entry{Name: name, Type: "file", Size: int64(len(text))})
		out.Content[name] = []byte(text)
	}
	return out
}

func cached(name, text string) cacheaudit.Artifact {
	digest := sha512.Sum512([]byte(text))
	return cacheaudit.Artifact{
		Path: name + "/" + name + "-1.0.0.tgz", SHA256: strings.Repeat("0", 64), SHA512: hex.EncodeToString(digest[:]),
	}
}

// lockedTrees: the candidate locks one package more than the two trees before it.
func lockedTrees(t *testing.T) map[v1alpha1.TreeName]*lockindex.Index {
	t.Helper()
	before, after := locked(map[string]string{"ms": "ms"}), locked(map[string]string{"ms": "ms", "is": "is"})
	indexes, err := LockIndexes(&source.Source{Trees: map[v1alpha1.TreeName]source.Tree{
		v1alpha1.TreeBase: {Root: before}, v1alpha1.TreeRegressionTest: {Root: before}, v1alpha1.TreeCandidate: {Root: after},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return indexes
}

func TestTheCacheIsCheckedAfterEachTree(t *testing.T) {
	ms, is := cached("ms", "ms"), cached("is", "is")
	link := cacheaudit.Artifact{Path: "ms/ms-1.0.0.tgz"}
	elsewhere := ms
	elsewhere.Path = "surprise"
	for name, tc := range map[string]struct {
		lists    [][]cacheaudit.Artifact
		finding  lockindex.Finding
		artifact string
	}{
		"files of the lockfiles": {lists: [][]cacheaudit.Artifact{{ms}, {ms}, {is, ms}}},
		"an empty cache":         {lists: [][]cacheaudit.Artifact{{}, {}, {}}},
		"other bytes":            {[][]cacheaudit.Artifact{{cached("ms", "evil")}}, lockindex.HashMismatch, "ms/ms-1.0.0.tgz"},
		"no bytes":               {[][]cacheaudit.Artifact{{link}}, lockindex.HashMismatch, "ms/ms-1.0.0.tgz"},
		"a file that only a later tree will name": {[][]cacheaudit.Artifact{{is, ms}}, lockindex.NotInLock, "is/is-1.0.0.tgz"},
		"a file that no tree names":               {[][]cacheaudit.Artifact{{ms}, {ms}, {cached("evil", "ms"), ms}}, lockindex.NotInLock, "evil/evil-1.0.0.tgz"},
		"a file in no package's place":            {[][]cacheaudit.Artifact{{elsewhere}}, lockindex.MalformedURL, "surprise"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			asked := 0
			h.cache = &Cache{Ecosystem: v1alpha1.EcosystemNPM, Indexes: lockedTrees(t), List: func(context.Context) ([]cacheaudit.Artifact, error) {
				asked++
				return tc.lists[asked-1], nil
			}}
			record, _, err := h.execute(context.Background())
			audit := record.CacheAudit
			if asked != len(tc.lists) || audit == nil || len(audit.Trees) != asked {
				t.Fatalf("asked %d times, want %d: %+v", asked, len(tc.lists), audit)
			}
			if tc.finding == "" {
				if err != nil || audit.Rejected != 0 || audit.Admitted != audit.Checked || audit.Checked != int64(len(tc.lists[asked-1])) {
					t.Errorf("%v, %+v", err, audit)
				}
				return
			}
			var failure *Failure
			if !errors.As(err, &failure) || failure.Detail != v1alpha1.DetailCacheAuditFailed {
				t.Errorf("ended with %v, want %s", err, v1alpha1.DetailCacheAuditFailed)
			}
			if audit.Rejected != 1 || audit.Findings[0].Artifact != tc.artifact || audit.Findings[0].Finding != v1alpha1.CacheFinding(tc.finding) {
				t.Errorf("%+v, want %s of %s", audit, tc.finding, tc.artifact)
			}
		})
	}
}

func TestACacheThatCannotBeListedIsRecorded(t *testing.T) {
	h := newHost(t)
	h.cache = &Cache{Ecosystem: v1alpha1.EcosystemNPM, Indexes: lockedTrees(t), List: func(context.Context) ([]cacheaudit.Artifact, error) {
		return nil, errors.New("connection refused\u202e")
	}}
	record, _, err := h.execute(context.Background())
	if err != nil || record.CacheAudit == nil || !strings.HasPrefix(record.CacheAudit.Problem, "connection refused") || len(record.CacheAudit.Trees) != 0 {
		t.Errorf("%v, %+v", err, record.CacheAudit)
	}
	if strings.ContainsRune(record.CacheAudit.Problem, 0x202e) {
		t.Errorf("not escaped: %q", record.CacheAudit.Problem)
	}
}

func TestWhatAStatusListsIsBounded(t *testing.T) {
	var list []cacheaudit.Artifact
	for i := range 100 {
		list = append(list, cacheaudit.Artifact{Path: strings.Repeat("a", 1000) + fmt.Sprint(i)})
	}
	c := &Cache{Ecosystem: v1alpha1.EcosystemNPM, Indexes: lockedTrees(t)}
	record := &v1alpha1.CacheAudit{}
	for range 2 {
		c.check([]v1alpha1.TreeName{v1alpha1.TreeBase}, list).addTo(record, v1alpha1.TreeBase)
	}
	if record.Rejected != 200 || len(record.Findings) != maxFindings || len(record.Findings[0].Artifact) > maxArtifactPath || len(record.Trees) != 1 {
		t.Errorf("%d rejected, %d listed, %v", record.Rejected, len(record.Findings), record.Trees)
	}
}
