package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

func some(millis int64) report.Figure {
	return report.Figure{Min: millis, Median: millis, Max: millis, N: 1}
}

func TestTheFiguresStandInTheTables(t *testing.T) {
	r := reports{
		vm:    report.VM{Header: report.Header{Commit: "abc", LoadBefore: "0.1"}, Accelerator: "tcg", Millis: map[string]report.Figure{"bootToHello": {Min: 2100, Median: 2200, Max: 2345, N: 5}}},
		lock:  report.Lock{Benchmarks: map[string]report.Benchmark{"uv/index": {NanosPerOp: some(12_340_000), AllocationsPerOp: some(77)}}},
		proxy: report.Proxy{Packages: 204, Squid: "6.13", Millis: map[string]report.Figure{"installCold": some(8000)}},
		proof: report.Proof{
			Header: report.Header{Commit: "abc", CPUs: 2, MeasuredAt: "2026-01-05T12:00:00Z"},
			Runs: []report.Run{{Ecosystem: "pip", Accelerator: "tcg", Trees: map[string]map[string]int64{"Base": {"boot": 2500}},
				PodPeakBytes: map[string]int64{"vm": 700 << 20}}},
			Millis: map[string]map[string]report.Figure{"pip": {"createdToVerdict": some(101_000)}},
		},
	}
	text := r.markdown()
	for _, want := range []string{
		"Commit abc, 2 CPUs (), 2026-01-05.",
		"### Whole proofs, TCG\n",
		"| ZTRun created → verdict | – | 101 s | – | – | – |",
		"| provisioning | – | – | – | npm 14.1 – 18.5 s | npm 0.92 – 1.47 s; pip 4.00 – 5.50 s; uv 1.20 – 1.60 s |",
		"| vm pod, peak memory | – | 700 MiB | – | – | – |",
		"| pip, Base | 2.50 s | – | – | – | – | – | – |",
		"| QEMU's exec → hello | 2.20 s (2.10 – 2.35 s) | 5 | 88.0 – 107 s | 7.80 – 9.90 s |",
		"| `npm ci`, through the stack, cold | 8.00 s | 1 |",
		"| uv, index | 12.3 (12.3 – 12.3) ms | 1 | 0.0 MB | 77 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q\n%s", want, text)
		}
	}
}

func TestFiguresOfDifferentCommitsShow(t *testing.T) {
	r := reports{proof: report.Proof{Header: report.Header{Commit: "new"}}, vm: report.VM{Header: report.Header{Commit: "old"}}}
	if got := r.commits(); got != "new, old" {
		t.Errorf("%q", got)
	}
}

func TestOnlyWhatIsBetweenTheMarksIsReplaced(t *testing.T) {
	page := "before\n" + begin + "old\n" + end + "after\n"
	got, err := replace(page, "new\n")
	if want := "before\n" + begin + "\nnew\n\n" + end + "after\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for name, page := range map[string]string{"without marks": "text", "without the second mark": begin + "text", "in the wrong order": end + begin} {
		if got, err := replace(page, "new"); err == nil {
			t.Errorf("%s: %q, want an error", name, got)
		}
	}
}

func TestAMissingReportIsNamedWithItsCommand(t *testing.T) {
	err := run(t.TempDir(), filepath.Join(t.TempDir(), "page.md"))
	if err == nil || !strings.Contains(err.Error(), "hack/bench.sh ") {
		t.Errorf("%v", err)
	}
}
