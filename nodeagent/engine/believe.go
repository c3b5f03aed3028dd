package engine

import (
	"context"
	"crypto/sha1" // git names objects by it
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/internal/ecosystem"
	"github.com/ai-dossier/zt-operator/internal/junit"
	"github.com/ai-dossier/zt-operator/internal/sentinel"
	"github.com/ai-dossier/zt-operator/internal/verdict"
	"github.com/ai-dossier/zt-operator/nodeagent/broker"
)

// commandSentinel is the name of the command that runs the twins.
const commandSentinel = "sentinel"

// comparedWith names the trusted result that a test command of the candidate is held
// against.
var comparedWith = map[string]string{
	ecosystem.CommandSuite:      verdict.BaseSuite,
	ecosystem.CommandRegression: verdict.RegressionTestResult,
}

// compare keeps what a trusted tree reported, and holds a candidate's report against
// it, once the trusted tree has one. A report that cannot be read has no comparison,
// and its command no result.
func (m *machine) compare(ctx context.Context, command string, status *v1alpha1.CommandStatus, report *junit.Report) error {
	if report == nil {
		return nil
	}
	if m.tree != v1alpha1.TreeCandidate {
		m.attempt.results.put(string(m.tree)+"/"+command, report.Cases)
		return nil
	}
	with, ok := comparedWith[command]
	if !ok {
		return nil
	}
	m.doing("waiting for the results of " + with)
	before, err := m.attempt.results.wait(ctx, with)
	if err != nil {
		return err
	}
	status.Comparison = verdict.Compare(with, before, report.Cases, m.filesBehind(with))
	return nil
}

// filesBehind are the test files that a trusted suite ran and that the candidate has
// unchanged. What the regressionTest commit adds was not in the base's suite.
func (m *machine) filesBehind(with string) []string {
	var paths []string
	for _, file := range m.attempt.Source.Protected {
		if file.InBase && with == verdict.BaseSuite {
			paths = append(paths, file.Path)
		}
	}
	return paths
}

// intact fails if what judges the candidate is not on its VM's disk as it is in the
// trusted tree. Install scripts, and tests that ran before, had the disk to write on.
func (m *machine) intact(ctx context.Context) error {
	for _, file := range m.attempt.Source.Protected {
		if _, err := m.protected(ctx, file.Path, file.ID); err != nil {
			return err
		}
	}
	for _, path := range hijacks {
		_, err := m.conn.Get(ctx, brokerproto.Get{Path: path})
		var answered *broker.GuestError
		switch {
		case errors.As(err, &answered) && answered.Slug == brokerproto.ErrorNotFound:
		case err == nil, errors.As(err, &answered) && answered.Slug != brokerproto.ErrorIO:
			return tampered(path, errors.New("npm would run it in the place of the image's own program"))
		default:
			return m.lost(err)
		}
	}
	return nil
}

// hijacks are files that npm's PATH would find before the programs of the image that
// run and report the tests. They are no part of any tree: a package or a run wrote
// them.
var hijacks = []string{
	"node_modules/.bin/node", "node_modules/.bin/npm", "node_modules/.bin/sh", "node_modules/.bin/env", "node_modules/.bin/python",
}

// protected reads a file of the workspace that must be the blob id.
func (m *machine) protected(ctx context.Context, path, id string) ([]byte, error) {
	content, err := m.conn.Get(ctx, brokerproto.Get{Path: path})
	var answered *broker.GuestError
	switch {
	case errors.As(err, &answered) && answered.Slug != brokerproto.ErrorIO:
		return nil, tampered(path, fmt.Errorf("the file was removed or replaced in the candidate's VM: %w", err))
	case err != nil:
		return nil, m.lost(err)
	case blobID(content) != id:
		return nil, tampered(path, errors.New("the file was changed in the candidate's VM before its tests ran"))
	}
	return content, nil
}

func tampered(path string, err error) error {
	return &Failure{Detail: v1alpha1.DetailWorkspaceTampered, Subject: path, Err: err}
}

// blobID is git's id of a file's content.
func blobID(content []byte) string {
	hash := sha1.New()
	fmt.Fprintf(hash, "blob %d\x00", len(content))
	hash.Write(content)
	return hex.EncodeToString(hash.Sum(nil))
}

// sentinel runs twins of the regression tests, with failing tests planted in them,
// through the command that ran the regression tests. It is the last command, since
// the suite would run the twins too; and none if the candidate was found wanting
// without it.
func (m *machine) sentinel(ctx context.Context) error {
	if _, final := verdict.Judge(m.attempt.Record.Snapshot(), m.attempt.Proof); final {
		return nil
	}
	before, err := m.attempt.results.wait(ctx, verdict.RegressionTestResult)
	if err != nil {
		return err
	}
	twins, err := m.plant(ctx, titlesOf(before))
	if err != nil {
		return fmt.Errorf("planting the sentinel: %w", err)
	}
	command := m.attempt.Prepared.Plan.Regression
	command.Name = commandSentinel
	command.Argv = sentinel.Command(command.Argv, paths(m.attempt.Proof.Targets), twins)
	status, report, err := m.exec(ctx, command, m.attempt.Clocks.Command)
	if err != nil {
		return fmt.Errorf("%s: %w", command.Name, err)
	}
	if report != nil {
		status.Sentinel, status.Comparison = reported(twins, before, report)
	}
	m.update(func(t *v1alpha1.TreeStatus) { t.Commands = append(t.Commands, status) })
	return nil
}

// plant puts a twin beside each target that can have one.
func (m *machine) plant(ctx context.Context, titles []string) ([]sentinel.Twin, error) {
	var twins []sentinel.Twin
	for _, file := range m.attempt.Source.Protected {
		if !sentinel.Plantable(file.Path) || !m.isTarget(file.Path) {
			continue
		}
		content, err := m.protected(ctx, file.Path, file.ID)
		if err != nil {
			return nil, err
		}
		twin, err := sentinel.New(file.Path, content, titles, m.engine.Rand)
		if err != nil {
			return nil, fail(v1alpha1.DetailNodeError, err)
		}
		if err := m.conn.Put(ctx, brokerproto.Put{Path: twin.Path, Mode: 0o644, Data: twin.Content}); err != nil {
			return nil, m.lost(err)
		}
		twins = append(twins, twin)
	}
	if len(twins) == 0 {
		return nil, fail(v1alpha1.DetailTargetUnsupported, errors.New("no target is small enough to be read back from the VM"))
	}
	return twins, nil
}

func (m *machine) isTarget(path string) bool {
	for _, target := range m.attempt.Proof.Targets {
		if string(target) == path {
			return true
		}
	}
	return false
}

func titlesOf(cases []junit.Case) []string {
	var titles []string
	seen := map[string]bool{}
	for _, c := range cases {
		if !c.WholeFile && !seen[c.Name] {
			seen[c.Name] = true
			titles = append(titles, c.Name)
		}
	}
	return titles
}

// reported splits the twins' report into the planted tests and the copies of the
// regression tests, which are compared as the regression tests themselves are.
func reported(twins []sentinel.Twin, trusted []junit.Case, report *junit.Report) (*v1alpha1.SentinelStatus, *v1alpha1.TestComparison) {
	planted, failed := map[string]int{}, int32(0)
	var copies []junit.Case
	for _, twin := range twins {
		for _, title := range twin.Planted {
			planted[title] = 0
		}
	}
	for _, c := range report.Cases {
		switch _, isPlanted := planted[c.Name]; {
		case !isPlanted:
			for _, twin := range twins {
				c.ID = twin.Original(c.ID)
			}
			copies = append(copies, c)
		case c.Status == junit.Failed:
			planted[c.Name]++
			failed++
		default:
			planted[c.Name] = -len(report.Cases) // whatever else the report says of it
		}
	}
	status := &v1alpha1.SentinelStatus{Planted: int32(len(planted)), Others: report.Counts.Failures - failed}
	for _, times := range planted {
		if times > 0 {
			status.Reported++
		}
	}
	return status, verdict.Compare(verdict.RegressionTestResult, trusted, copies, nil)
}
