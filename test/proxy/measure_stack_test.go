//go:build proxy && bench

package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ai-dossier/zt-operator/internal/policy"
)

// startNPMMirrorImage starts the npm mirror's image as its pod would, code cache and
// all: what startNPMMirror runs is installed anew and starts more slowly.
func startNPMMirrorImage(t *testing.T, top *topology, s *squid) *mirror {
	t.Helper()
	const configDir, storageDir = "/etc/zt/mirror", "/verdaccio/storage"
	config, storage := folder(t, 0o755), folder(t, 0o777)
	for name, text := range map[string]string{
		"ca.crt": string(s.caPEM),
		"config.yaml": policy.RenderVerdaccio(policy.VerdaccioParams{
			Proxy: net.JoinHostPort(squidIP, strconv.Itoa(policy.SquidPort)), Storage: storageDir,
		}),
	} {
		if err := os.WriteFile(filepath.Join(config, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	image := imageConfig(t, "mirror-npm")
	env := map[string]string{"NODE_EXTRA_CA_CERTS": configDir + "/ca.crt"}
	for _, variable := range image.Env {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	cmd := container{
		namespace: top.mirror, root: imageRoot(t, "mirror-npm"), env: env,
		mounts: map[string]string{configDir: config, storageDir: storage},
	}.command(t, append(image.Entrypoint, image.Cmd...)...)
	m := &mirror{address: net.JoinHostPort(mirrorIP, strconv.Itoa(policy.VerdaccioPort)), storage: storage, output: &bytes.Buffer{}}
	cmd.Stdout, cmd.Stderr = m.output, m.output
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = syscall.Kill(-m.pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the mirror's output: %s", tailOf(m.output.String()))
		}
	})
	for {
		if status, _ := fetch(top, m.address, "/-/ping"); status == 200 {
			m.ready = time.Since(begun)
			return m
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("the mirror does not answer")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

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
