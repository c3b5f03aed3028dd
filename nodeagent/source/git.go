package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/safetext"
)

// lenient are flaws that old, honest histories have, with no effect on a tree.
const lenient = "zeroPaddedFilemode=ignore,missingSpaceBeforeDate=ignore,badTimezone=ignore," +
	"missingEmail=ignore,badEmail=ignore,missingNameBeforeEmail=ignore,badName=ignore"

// git prepares a git command. Options come from us; ids are hex digits; nothing
// else of a request or a repository is ever an argument.
func git(args ...string) (*exec.Cmd, *boundedBuffer) {
	fixed := []string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.bigFileThreshold=16m",
		"-c", "core.deltaBaseCacheLimit=64m", "-c", "protocol.allow=never", "-c", "gc.auto=0",
	}
	cmd := exec.Command("/usr/bin/git", append(fixed, args...)...)
	cmd.Dir = workInRoot
	complaint := &boundedBuffer{left: maxStderr, drop: true}
	cmd.Stderr = complaint
	return cmd, complaint
}

// blame turns a git command's failure into a refusal of what it read, unless git
// could not even start.
func blame(err error, what string, complaint *boundedBuffer) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("%s: %w", what, err)
	case bytes.Contains(complaint.Bytes(), []byte("No space left on device")):
		return fmt.Errorf("%s: no space left on the node", what)
	}
	said := telling(complaint.String())
	if said == "" {
		said = exit.String()
	}
	return invalid("%s failed: %s", what, safetext.Line(said, 200))
}

// telling picks the line that says most: git names the flaw first and gives up in
// the last line.
func telling(text string) string {
	var last string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if flaw, ok := strings.CutPrefix(line, "error: "); ok {
			return flaw
		}
		if line != "" {
			last = line
		}
	}
	return strings.TrimPrefix(last, "fatal: ")
}

// index makes the repository and takes the pack into it. Every object is hashed
// and checked, and every object that one names must be there. One thread: each may
// hold a base and a result of limitAlloc.
func index(pack io.Reader) error {
	if err := os.Mkdir(workInRoot+"/empty", 0o700); err != nil {
		return err
	}
	initialise, complaint := git("init", "--quiet", "--bare", "--template="+workInRoot+"/empty", "--initial-branch=none", repository)
	if err := initialise.Run(); err != nil {
		return fmt.Errorf("make a repository: %w: %s", err, complaint.String())
	}
	cmd, complaint := git("index-pack", "--stdin", "--strict="+lenient, "--threads=1", fmt.Sprintf("--max-input-size=%d", MaxBundle))
	cmd.Stdin = pack
	return blame(cmd.Run(), "indexing its pack", complaint)
}

// treeOf returns the id of the tree of a commit. An id that names a tag, tree or
// blob is no commit of the bundle.
func treeOf(wanted wantedTree) (string, error) {
	missing := &wireRefusal{
		Detail: v1alpha1.DetailCommitNotInBundle, Subject: string(wanted.Name),
		Message: "the bundle has no commit " + wanted.Commit + ": pack a branch that contains it",
	}
	if !objectID.MatchString(wanted.Commit) {
		return "", missing
	}
	cmd, complaint := git("cat-file", "--batch-check=%(objecttype) %(objectname)")
	cmd.Stdin = strings.NewReader(wanted.Commit + "\n" + wanted.Commit + "^{tree}\n")
	output, err := cmd.Output()
	if err != nil {
		return "", blame(err, "looking up a commit", complaint)
	}
	lines := strings.Split(string(output), "\n")
	if lines[0] != "commit "+wanted.Commit || len(lines) < 2 {
		return "", missing
	}
	id, ok := strings.CutPrefix(lines[1], "tree ")
	if !ok || !objectID.MatchString(id) {
		return "", invalid("a commit of the proof has no tree")
	}
	return id, nil
}
