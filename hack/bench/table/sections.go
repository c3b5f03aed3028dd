package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var (
	ecosystems = []string{"npm", "pip", "uv"}
	trees      = []string{"Base", "RegressionTest", "Candidate"}
)

// proofRows are the steps of whole runs and the record's name for them.
var proofRows = []struct{ title, step, record string }{
	{"ZTRun created → verdict", "createdToVerdict", ""},
	{"proxy pods created → both ready", "proxyPodsToReady", "proxyReady"},
	{"proxy pods created → first package served", "proxyPodsToFirstPackage", ""},
	{"VM boot, QEMU's exec → hello", "boot", "boot"},
	{"provisioning", "provision", "%s provision"},
	{"phase switch", "phaseSwitch", "phaseSwitch"},
	{"`npm rebuild`", "rebuild", "%s rebuild"},
	{"suite", "suite", "%s suite"},
	{"regression test", "regression", ""},
	{"sentinel", "sentinel", ""},
	{"destroy", "destroy", "destroy"},
}

func (r *reports) writeProofs(b *strings.Builder) {
	heading(b, "Whole proofs, "+r.accelerators(), "step, all trees", "npm", "pip", "uv", "record, TCG", "record, KVM")
	for _, p := range proofRows {
		cells := []string{p.title}
		for _, ecosystem := range ecosystems {
			cells = append(cells, spread(r.proof.Millis[ecosystem][p.step]))
		}
		tcg, kvm := recordedOfAll(p.record)
		row(b, append(cells, tcg, kvm)...)
	}
	for _, role := range []string{"vm", "mirror", "squid"} {
		cells := []string{role + " pod, peak memory"}
		for _, ecosystem := range ecosystems {
			cells = append(cells, r.peak(ecosystem, role))
		}
		row(b, append(cells, "–", "–")...)
	}
}

func (r *reports) accelerators() string {
	seen := map[string]bool{}
	for _, run := range r.proof.Runs {
		seen[strings.ToUpper(run.Accelerator)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), " and ")
}

// recordedOfAll joins what the record says for each ecosystem, if the name asks for it.
func recordedOfAll(name string) (tcg, kvm string) {
	if !strings.Contains(name, "%s") {
		return recorded(name)
	}
	var underTCG, underKVM []string
	for _, ecosystem := range ecosystems {
		t, k := recorded(fmt.Sprintf(name, ecosystem))
		if t != "–" {
			underTCG = append(underTCG, ecosystem+" "+t)
		}
		if k != "–" {
			underKVM = append(underKVM, ecosystem+" "+k)
		}
	}
	return strings.Join(underTCG, "; "), strings.Join(underKVM, "; ")
}

// peak is the largest of all runs.
func (r *reports) peak(ecosystem, role string) string {
	var peak int64
	for _, run := range r.proof.Runs {
		if run.Ecosystem == ecosystem {
			peak = max(peak, run.PodPeakBytes[role])
		}
	}
	if peak == 0 {
		return "–"
	}
	return fmt.Sprintf("%d MiB", peak>>20)
}

func (r *reports) writeTrees(b *strings.Builder) {
	heading(b, "By tree", "tree", "boot", "provisioning", "phase switch", "regression test", "suite", "sentinel", "all of verification")
	for _, run := range r.proof.Runs {
		for _, tree := range trees {
			steps := run.Trees[tree]
			cells := []string{run.Ecosystem + ", " + tree}
			for _, step := range []string{"boot", "provision", "phaseSwitch", "regression", "suite", "sentinel", "verify"} {
				if steps[step] == 0 {
					cells = append(cells, "–")
					continue
				}
				cells = append(cells, seconds(steps[step]))
			}
			row(b, cells...)
		}
	}
}

func (r *reports) writeVM(b *strings.Builder) {
	heading(b, "One VM alone, "+strings.ToUpper(r.vm.Accelerator), "step", "median (range)", "n", "record, TCG", "record, KVM")
	for _, s := range []struct{ title, step, record string }{
		{"QEMU's exec → hello", "bootToHello", "boot"},
		{"`node -e 0` in the worker container, first", "nodeFirst", ""},
		{"the same, warm", "nodeWarm", "nodeWarm"},
		{"phase switch: power off, relaunch, hello", "phaseSwitch", "phaseSwitch"},
		{"of it, power off", "powerOff", ""},
	} {
		tcg, kvm := recorded(s.record)
		f := r.vm.Millis[s.step]
		row(b, s.title, spread(f), fmt.Sprint(f.N), tcg, kvm)
	}
}

func (r *reports) writeProxy(b *strings.Builder) {
	heading(b, fmt.Sprintf("Squid %s and the npm mirror, `npm ci` of %d packages", r.proxy.Squid, r.proxy.Packages), "", "median (range)", "n")
	for _, s := range []struct{ title, step string }{
		{"Squid's entry point → listens", "squidListens"},
		{"mirror started → answers", "mirrorAnswers"},
		{"first package asked for → served", "firstPackage"},
		{"all three: stack started → first package served", "startToFirstPackage"},
		{"`npm ci`, direct from the registry", "installDirect"},
		{"`npm ci`, through the stack, cold", "installCold"},
		{"`npm ci`, through the stack, warm", "installWarm"},
	} {
		f := r.proxy.Millis[s.step]
		row(b, s.title, spread(f), fmt.Sprint(f.N))
	}
	for _, s := range []struct{ title, step string }{
		{"CPU time of the mirror, cold", "mirrorCold"}, {"CPU time of Squid, cold", "squidCold"}, {"CPU time of the mirror, warm", "mirrorWarm"},
	} {
		f := r.proxy.CPUMillis[s.step]
		row(b, s.title, spread(f), fmt.Sprint(f.N))
	}
	for _, part := range []string{"mirror", "squid"} {
		idle, after := r.proxy.MemoryKiB[part+"Idle"], r.proxy.MemoryKiB[part+"AfterInstalls"]
		row(b, "memory of "+part+": idle → after both", fmt.Sprintf("%d → %d MiB", idle.Median>>10, after.Median>>10), fmt.Sprint(after.N))
	}
	row(b, "requests that Squid admitted, cold", fmt.Sprint(r.proxy.Requests.Median), fmt.Sprint(r.proxy.Requests.N))
}

func (r *reports) writeLock(b *strings.Builder) {
	heading(b, "Lockfiles of 2,000 packages", "", "median (range)", "n", "memory", "allocations")
	for _, name := range slices.Sorted(maps.Keys(r.lock.Benchmarks)) {
		l := r.lock.Benchmarks[name]
		millis := func(nanos int64) string { return fmt.Sprintf("%.1f", float64(nanos)/1e6) }
		row(b, strings.Replace(name, "/", ", ", 1),
			fmt.Sprintf("%s (%s – %s) ms", millis(l.NanosPerOp.Median), millis(l.NanosPerOp.Min), millis(l.NanosPerOp.Max)),
			fmt.Sprint(l.NanosPerOp.N), fmt.Sprintf("%.1f MB", float64(l.BytesPerOp.Median)/1e6), fmt.Sprint(l.AllocationsPerOp.Median))
	}
}
