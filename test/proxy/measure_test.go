//go:build proxy && bench

package proxy

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	figures "github.com/ai-dossier/zt-operator/hack/bench/report"
)

// measured is what bench.sh installs; see its README.
const measured = "../../hack/bench/project"

const (
	// stacks are started, and installed from cold and warm.
	stacks = 3
	// firstPackage is what a client asks a new stack for.
	firstPackage = "/ms/-/ms-2.1.3.tgz"
)

// TestMeasureTheProxy writes the figures that hack/bench.sh proxy asks for. It fails
// only if the stack does not work.
func TestMeasureTheProxy(t *testing.T) {
	out := os.Getenv("ZT_BENCH_OUT")
	if out == "" {
		t.Fatal("ZT_BENCH_OUT names no file to write: run hack/bench.sh proxy")
	}
	m := &measurement{millis: figures.Samples{}, cpu: figures.Samples{}, memory: figures.Samples{}}
	result := figures.Proxy{Header: figures.Begin(), Packages: packagesOf(t)}
	for range stacks {
		m.millis.Add("installDirect", install(t, "", "https://registry.npmjs.org/"))
		// A subtest, so that a stack is gone before the next one starts.
		if !t.Run("stack", func(t *testing.T) { m.stack(t, &result) }) {
			return
		}
	}
	result.End()
	result.Millis, result.CPUMillis, result.MemoryKiB = m.millis.Figures(), m.cpu.Figures(), m.memory.Figures()
	result.Requests = figures.Summarize(m.requests)
	if err := figures.Write(out, result); err != nil {
		t.Fatal(err)
	}
}

type measurement struct {
	millis, cpu, memory figures.Samples
	requests            []int64
}

// stack starts one Squid and then one mirror, and uses them.
func (m *measurement) stack(t *testing.T, result *figures.Proxy) {
	top := newTopology(t)
	s := realSquid(t, top)
	mirror := startNPMMirror(t, top, s, folder(t, 0o777))
	m.millis.Add("squidListens", s.started)
	m.millis.Add("mirrorAnswers", mirror.ready)
	begun := time.Now()
	if status, body := fetch(top, mirror.address, firstPackage); status != 200 {
		t.Fatalf("the first package: %d %.200s", status, body)
	}
	m.millis.Add("firstPackage", time.Since(begun))
	m.millis.Add("startToFirstPackage", s.started+mirror.ready+time.Since(begun))
	result.Squid = s.version()

	processes := map[string]int{"squid": s.cmd.Process.Pid, "mirror": mirror.pid}
	m.remember(t, "Idle", processes)
	for _, round := range []string{"Cold", "Warm"} {
		before := map[string]usage{}
		for name, pid := range processes {
			before[name] = usageOf(t, pid)
		}
		m.millis.Add("install"+round, install(t, top.mirror, "http://"+mirror.address+"/"))
		for name, pid := range processes {
			m.cpu.Add(name+round, usageOf(t, pid).cpu-before[name].cpu)
		}
		if round == "Cold" {
			m.requests = append(m.requests, s.egress(t).Admitted)
		}
	}
	m.remember(t, "AfterInstalls", processes)
}

func (m *measurement) remember(t *testing.T, when string, processes map[string]int) {
	t.Helper()
	for name, pid := range processes {
		m.memory[name+when] = append(m.memory[name+when], usageOf(t, pid).memoryKiB)
	}
}

// install installs the project with the real npm and a cache of its own, in a network
// namespace or, without one, from where the machine is, and returns how long npm took.
func install(t *testing.T, namespace, registry string) time.Duration {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		run(t, "cp", filepath.Join(measured, name), dir)
	}
	for _, name := range []string{"user", "global"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argv := []string{
		"env", "-i", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt",
		"npm", "ci", "--prefix", dir, "--ignore-scripts", "--no-fund", "--no-audit",
		"--registry", registry, "--cache", dir + "/cache", "--userconfig", dir + "/user", "--globalconfig", dir + "/global",
	}
	if namespace != "" {
		argv = append([]string{"ip", "netns", "exec", namespace}, argv...)
	}
	begun := time.Now()
	run(t, argv[0], argv[1:]...)
	took := time.Since(begun)
	if _, err := os.Stat(filepath.Join(dir, "node_modules/eslint/package.json")); err != nil {
		t.Fatalf("npm ci installed no eslint: %v", err)
	}
	return took
}
