package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/cacheaudit"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/lockindex"
	"github.com/ai-dossier/zt-operator/internal/safetext"
	"github.com/ai-dossier/zt-operator/nodeagent/source"
)

// Cache is what an attempt knows of its mirror's cache.
type Cache struct {
	// List returns what the auditor beside the mirror found.
	List func(context.Context) ([]cacheaudit.Artifact, error)
	// Ecosystem of the mirror, and what each tree's lockfile expects.
	Ecosystem v1alpha1.Ecosystem
	Indexes   map[v1alpha1.TreeName]*lockindex.Index
}

// LockIndexes reads the digests that each tree's lockfile expects. Errors are
// *ecosystem.Refusal.
func LockIndexes(src *source.Source) (map[v1alpha1.TreeName]*lockindex.Index, error) {
	indexes := map[v1alpha1.TreeName]*lockindex.Index{}
	for _, name := range TreeOrder {
		root := src.Trees[name].Root
		detection, err := ecosystem.Detect(root)
		if err != nil {
			return nil, inTree(name, err)
		}
		index, err := lockindex.Build(root, detection)
		if err != nil {
			return nil, inTree(name, refusalOf(err))
		}
		indexes[name] = index
	}
	return indexes, nil
}

func refusalOf(err error) error {
	var bad *lockindex.Error
	if errors.As(err, &bad) {
		return &ecosystem.Refusal{Detail: bad.Detail, Subject: bad.Subject, Message: bad.Message}
	}
	return err
}

const (
	// cacheAuditTimeout covers the auditor's own bound.
	cacheAuditTimeout = 90 * time.Second
	// maxFindings and maxArtifactPath bound what a status lists of rejected files.
	maxFindings     = 16
	maxArtifactPath = 256
)

// auditCache checks what the mirror has cached by now against the lockfiles of the
// trees that were provisioned, and ends the attempt if a tree was installed beside a
// file that none of them names. After a failed installation the findings only explain
// it.
func (m *machine) auditCache(ctx context.Context, provisioned bool) error {
	a := m.attempt
	if a.Cache == nil {
		return nil
	}
	m.doing("checking the mirror's cache")
	// The wait is bounded: an installation ends with its context.
	a.mirror.Lock()
	defer a.mirror.Unlock()
	listing, cancel := context.WithTimeout(ctx, cacheAuditTimeout)
	defer cancel()
	artifacts, err := a.Cache.List(listing)
	if err != nil {
		// The operator does without the proof, not without the record.
		a.Record.Update(func(s *v1alpha1.ExecutionStatus) {
			cacheRecord(s).Problem = safetext.Line(err.Error(), maxArtifactPath)
		})
		return nil
	}
	found := a.Cache.check(m.executed(), artifacts)
	a.Record.Update(func(s *v1alpha1.ExecutionStatus) { found.addTo(cacheRecord(s), m.tree) })
	if len(found.rejected) > 0 && provisioned {
		first := found.rejected[0]
		return fail(v1alpha1.DetailCacheAuditFailed, fmt.Errorf("files in the mirror's cache that no lockfile of the executed trees names with these bytes: %d; first: %s, %s",
			len(found.rejected), first.Artifact, first.Finding))
	}
	return nil
}

// executed are the trees whose provisioning has begun, this one included.
func (m *machine) executed() (names []v1alpha1.TreeName) {
	for _, tree := range m.attempt.Record.Snapshot().Trees {
		if tree.State != v1alpha1.TreeBooting {
			names = append(names, tree.Name)
		}
	}
	return names
}

func cacheRecord(s *v1alpha1.ExecutionStatus) *v1alpha1.CacheAudit {
	if s.CacheAudit == nil {
		s.CacheAudit = &v1alpha1.CacheAudit{}
	}
	return s.CacheAudit
}

// checked is the result of one audit.
type checked struct {
	admitted int
	rejected []v1alpha1.RejectedArtifact
}

func (c *Cache) check(trees []v1alpha1.TreeName, artifacts []cacheaudit.Artifact) (out checked) {
	for _, artifact := range artifacts {
		finding := c.find(trees, artifact)
		if finding == lockindex.Admitted || finding == lockindex.MetadataOnly {
			out.admitted++
			continue
		}
		out.rejected = append(out.rejected, v1alpha1.RejectedArtifact{
			Artifact: safetext.Line(artifact.Path, maxArtifactPath), Finding: v1alpha1.CacheFinding(finding),
		})
	}
	return out
}

// find is the best that any of the trees' lockfiles says of a file: all trees share
// one mirror. A different digest says more than a file that is not named at all.
func (c *Cache) find(trees []v1alpha1.TreeName, artifact cacheaudit.Artifact) lockindex.Finding {
	short, long := artifact.Digests()
	worst := lockindex.MalformedURL
	for _, tree := range trees {
		index := c.Indexes[tree]
		if index == nil {
			continue
		}
		finding := index.Check(lockindex.Artifact{URL: cacheaudit.URL(c.Ecosystem, artifact.Path), SHA256: short, SHA512: long})
		switch {
		case finding == lockindex.Admitted || finding == lockindex.MetadataOnly:
			return finding
		case finding == lockindex.HashMismatch || worst != lockindex.HashMismatch:
			worst = finding
		}
	}
	return worst
}

func (c checked) addTo(record *v1alpha1.CacheAudit, tree v1alpha1.TreeName) {
	if !slices.Contains(record.Trees, tree) {
		record.Trees = append(record.Trees, tree)
	}
	record.Checked, record.Admitted = int64(c.admitted+len(c.rejected)), int64(c.admitted)
	record.Rejected += int64(len(c.rejected))
	room := max(0, maxFindings-len(record.Findings))
	record.Findings = append(record.Findings, c.rejected[:min(room, len(c.rejected))]...)
}
