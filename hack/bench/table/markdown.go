package main

import (
	"fmt"
	"strings"

	"github.com/ai-dossier/zt-operator/hack/bench/report"
)

type reports struct {
	vm    report.VM
	lock  report.Lock
	proxy report.Proxy
	proof report.Proof
}

func (r *reports) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Commit %s, %d CPUs (%s), %s. The load average before each: VM %s, lockfiles %s, proxy %s, proofs %s.\n",
		r.commits(), r.proof.CPUs, r.proof.CPU, r.proof.MeasuredAt[:len("2006-01-02")],
		r.vm.LoadBefore, r.lock.LoadBefore, r.proxy.LoadBefore, r.proof.LoadBefore)
	r.writeProofs(&b)
	r.writeTrees(&b)
	r.writeVM(&b)
	r.writeProxy(&b)
	r.writeLock(&b)
	return b.String()
}

// commits are those of the reports: one, unless they were measured apart.
func (r *reports) commits() string {
	var all []string
	seen := map[string]bool{}
	for _, h := range []report.Header{r.proof.Header, r.vm.Header, r.proxy.Header, r.lock.Header} {
		if h.Commit != "" && !seen[h.Commit] {
			seen[h.Commit] = true
			all = append(all, h.Commit)
		}
	}
	return strings.Join(all, ", ")
}

// row writes one row of a table.
func row(b *strings.Builder, cells ...string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// heading writes a table's title and first row.
func heading(b *strings.Builder, title string, cells ...string) {
	fmt.Fprintf(b, "\n### %s\n\n", title)
	row(b, cells...)
	b.WriteString("|---" + strings.Repeat("|---", len(cells)-1) + "|\n")
}

// seconds shows milliseconds as seconds, with three digits that mean something.
func seconds(millis int64) string {
	switch s := float64(millis) / 1000; {
	case s >= 100:
		return fmt.Sprintf("%.0f s", s)
	case s >= 10:
		return fmt.Sprintf("%.1f s", s)
	default:
		return fmt.Sprintf("%.2f s", s)
	}
}

// spread is a figure in one cell: its median and, if it was measured more than once,
// its range.
func spread(f report.Figure) string {
	switch f.N {
	case 0:
		return "–"
	case 1:
		return seconds(f.Median)
	}
	return fmt.Sprintf("%s (%s – %s)", seconds(f.Median), strings.TrimSuffix(seconds(f.Min), " s"), seconds(f.Max))
}

// recorded is what the original record says about a step under each accelerator.
func recorded(step string) (tcg, kvm string) {
	f, ok := report.RecordOf(step)
	if !ok {
		return "–", "–"
	}
	return between(f.TCGMin, f.TCGMax), between(f.KVMMin, f.KVMMax)
}

func between(low, high int64) string {
	switch {
	case high == 0:
		return "–"
	case low == high:
		return seconds(low)
	}
	return strings.TrimSuffix(seconds(low), " s") + " – " + seconds(high)
}
