package placement_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/nodeagent/placement"
	"github.com/ai-dossier/zt-operator/nodeagent/placement/podtest"
)

func find(t *testing.T) (*placement.Pod, *podtest.Pod) {
	t.Helper()
	made := podtest.New(t)
	pod, err := placement.Find(made.UID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pod.Release(); err != nil {
			t.Error(err)
		}
	})
	return pod, made
}

// echoInside starts a server on the pod's loopback, from within its network.
func echoInside(t *testing.T, pod *podtest.Pod, port int) {
	t.Helper()
	script := fmt.Sprintf(`import socket
s = socket.create_server(("127.0.0.1", %d)); print("up", flush=True)
while True:
    c, _ = s.accept(); c.sendall(c.recv(64)); c.close()`, port)
	server := exec.Command("nsenter", "--net=/proc/"+fmt.Sprint(pod.HolderPID)+"/ns/net", "python3", "-c", script)
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	if _, err := io.ReadFull(output, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
}

func TestDialReachesThePodsLoopbackAndNotTheNodes(t *testing.T) {
	pod, made := find(t)
	port, err := pod.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pod.Dial(t.Context(), port); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("before anything listens: %v", err)
	}
	node, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	if _, err := pod.Dial(t.Context(), node.Addr().(*net.TCPAddr).Port); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("the node's loopback: %v", err)
	}
	echoInside(t, made, port)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	const count = 300 // More than the server's queue: some connects have to wait.
	for i := range count {
		go func() { done <- roundTrip(ctx, pod, port, fmt.Sprint("message ", i)) }()
	}
	for range count {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	// The test's own goroutines are still on the node's network.
	conn, err := net.Dial("tcp", node.Addr().String())
	if err != nil {
		t.Fatal("a thread stayed in the pod's network: ", err)
	}
	_ = conn.Close()
}

func roundTrip(ctx context.Context, pod *placement.Pod, port int, text string) error {
	conn, err := pod.Dial(ctx, port)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	back, err := io.ReadAll(conn)
	if err == nil && string(back) != text {
		err = fmt.Errorf("got %q, want %q", back, text)
	}
	return err
}

func TestDialHonoursItsContext(t *testing.T) {
	pod, made := find(t)
	port, err := pod.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	// A loopback that swallows what is sent to the port.
	rules := fmt.Sprintf("table ip zt { chain input { type filter hook input priority 0; tcp dport %d drop; }; }", port)
	tool := exec.Command("nsenter", "--net=/proc/"+fmt.Sprint(made.HolderPID)+"/ns/net", "nft", rules)
	if output, err := tool.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s", err, output)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := pod.Dial(ctx, port); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took < 300*time.Millisecond || took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestReleaseKillsWhatIsLeftInTheVMsCgroup(t *testing.T) {
	pod, made := find(t)
	placed, err := pod.Place()
	if err != nil {
		t.Fatal(err)
	}
	if len(placed.Cgroups) != len(made.Cgroups) {
		t.Errorf("placed in %q, the pod is in %q", placed.Cgroups, made.Cgroups)
	}
	left := exec.Command("sleep", "100000")
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- left.Wait() }()
	for _, dir := range placed.Cgroups {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, left.Process.Pid), 0); err != nil {
			_ = left.Process.Kill()
			t.Fatal(err)
		}
	}
	if err := pod.Release(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		_ = left.Process.Kill()
		t.Error("it lives on")
	}
	if err := unix.Kill(made.HolderPID, 0); err != nil {
		t.Errorf("the holder is gone: %v", err)
	}
	for _, dir := range placed.Cgroups {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", dir, err)
		}
	}
}
