package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// CommitVariable names the environment variable with the commit that is measured.
// The benchmarks themselves may run where there is no git.
const CommitVariable = "ZT_BENCH_COMMIT"

// Header is under which circumstances a report was measured. Figures of machines or
// loads that differ do not compare.
type Header struct {
	MeasuredAt string `json:"measuredAt"`
	// Seconds that measuring took.
	Seconds int64 `json:"seconds"`
	// Commit of the sources, ending in -dirty if they were changed.
	Commit string `json:"commit,omitempty"`
	CPUs   int    `json:"cpus"`
	CPU    string `json:"cpu,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	// LoadBefore is the one-minute load average when measuring began: what else the
	// machine had to do.
	LoadBefore string `json:"loadBefore,omitempty"`

	begun time.Time
}

// Begin is called before anything is measured.
func Begin() Header {
	now := time.Now()
	return Header{
		MeasuredAt: now.UTC().Format(time.RFC3339),
		Commit:     os.Getenv(CommitVariable),
		CPUs:       runtime.NumCPU(),
		CPU:        fieldOf(read("/proc/cpuinfo"), "model name"),
		Kernel:     strings.TrimSpace(read("/proc/sys/kernel/osrelease")),
		LoadBefore: firstWord(read("/proc/loadavg")),
		begun:      now,
	}
}

// End is called after everything was measured.
func (h *Header) End() { h.Seconds = int64(time.Since(h.begun).Seconds()) }

func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// fieldOf is the value of the first line "name : value".
func fieldOf(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Write writes a report as indented JSON, making the folder.
func Write(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Read reads a report that Write wrote.
func Read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading a report: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decoding %s: %w", path, err)
	}
	return nil
}
