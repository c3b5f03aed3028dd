//go:build proxy && bench

package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// usage is what a process and all that it started use.
type usage struct {
	cpu       time.Duration
	memoryKiB int64
}

// usageOf adds up a process and its descendants: their CPU time, and their memory with
// shared pages counted by their share.
func usageOf(t *testing.T, pid int) (u usage) {
	t.Helper()
	u.cpu, u.memoryKiB = cpuOf(t, pid), memoryOf(t, pid)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatalf("process %d is gone: %v", pid, err)
	}
	for _, field := range strings.Fields(string(children)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		of := usageOf(t, child)
		u.cpu += of.cpu
		u.memoryKiB += of.memoryKiB
	}
	return u
}

// cpuOf reads user and system time, in Linux's ticks of 10 ms.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name may hold anything, so fields are counted from its closing bracket.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, errUser := strconv.ParseInt(fields[11], 10, 64)
	system, errSystem := strconv.ParseInt(fields[12], 10, 64)
	if errUser != nil || errSystem != nil {
		t.Fatalf("process %d has no CPU time: %q", pid, stat)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func memoryOf(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "Pss: %d kB", &kib); err == nil {
			return kib
		}
	}
	t.Fatalf("process %d has no memory", pid)
	return 0
}

// packagesOf counts what the lockfile names.
func packagesOf(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(measured, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Resolved string } `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	for _, p := range lock.Packages {
		if p.Resolved != "" {
			n++
		}
	}
	return n
}
