package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

// result is a line of go test: the benchmark's name with its parent's and the number of
// CPUs, how often it ran, and three measured values.
var result = regexp.MustCompile(`^Benchmark[^/\s]+/(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s.*?(\d+) B/op\s+(\d+) allocs/op$`)

// parse collects the results by benchmark. A package that failed is an error, and so
// is output without results.
func parse(in io.Reader) (map[string]report.Benchmark, error) {
	nanos, bytes, allocations := report.Samples{}, report.Samples{}, report.Samples{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
			return nil, fmt.Errorf("the benchmarks failed: %s", line)
		}
		m := result.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if err := errors.Join(add(nanos, m[1], m[2]), add(bytes, m[1], m[3]), add(allocations, m[1], m[4])); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the benchmarks' output: %w", err)
	}
	if len(nanos) == 0 {
		return nil, errors.New("no benchmark's result was read: pipe go test -bench -benchmem into this program, or run hack/bench.sh lock")
	}
	out := make(map[string]report.Benchmark, len(nanos))
	for name := range nanos {
		out[name] = report.Benchmark{
			NanosPerOp:       report.Summarize(nanos[name]),
			BytesPerOp:       report.Summarize(bytes[name]),
			AllocationsPerOp: report.Summarize(allocations[name]),
		}
	}
	return out, nil
}

func add(samples report.Samples, name, text string) error {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%q is no number: %w", text, err)
	}
	samples[name] = append(samples[name], int64(value+0.5))
	return nil
}
