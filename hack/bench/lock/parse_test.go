package main

import (
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

const printed = `goos: linux
goarch: amd64
pkg: github.com/ai-dossier/zt-operator/internal/lockindex
BenchmarkLargeLockfiles/npm/detect-2         	     100	   6000000 ns/op	  400 B/op	      30 allocs/op
BenchmarkLargeLockfiles/npm/detect-2         	      98	   8000000.6 ns/op	  100.50 MB/s	  420 B/op	      30 allocs/op
BenchmarkLargeLockfiles/uv/index             	      10	      90 ns/op	    1 B/op	       2 allocs/op
PASS
ok  	github.com/ai-dossier/zt-operator/internal/lockindex	1.2s
`

func TestParseCollectsEachBenchmarksResults(t *testing.T) {
	got, err := parse(strings.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	want := report.Benchmark{
		NanosPerOp:       report.Figure{Min: 6_000_000, Median: 7_000_000, Max: 8_000_001, N: 2},
		BytesPerOp:       report.Figure{Min: 400, Median: 410, Max: 420, N: 2},
		AllocationsPerOp: report.Figure{Min: 30, Median: 30, Max: 30, N: 2},
	}
	if got["npm/detect"] != want {
		t.Errorf("npm/detect is %+v, want %+v", got["npm/detect"], want)
	}
	if got["uv/index"].NanosPerOp.Median != 90 || len(got) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, output := range map[string]string{
		"nothing at all":                      "",
		"a package without benchmarks":        "PASS\nok  \tx\t0.1s\n",
		"a package that failed":               printed + "FAIL\tx\t0.1s\n",
		"a benchmark that failed":             "--- FAIL: BenchmarkLargeLockfiles/npm/detect\n" + printed,
		"results without a count of the heap": "BenchmarkX/a-2  1  5 ns/op\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parse(strings.NewReader(output)); err == nil {
				t.Errorf("%v, want an error", got)
			}
		})
	}
}
