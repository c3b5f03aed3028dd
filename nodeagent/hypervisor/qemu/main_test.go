package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// parentCommand makes the test binary the parent of a launched process, in the
// folder that the next argument names.
const parentCommand = "zt-test-parent"

// TestMain makes the test binary its own launch shim, as the node agent is.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == LaunchCommand:
		LaunchMain()
	case len(os.Args) == 3 && os.Args[1] == parentCommand:
		if err := parentMain(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// parentMain launches a process, prints its pid and waits for it.
func parentMain(dir string) error {
	p, err := start(context.Background(), []string{"/proc/self/exe", LaunchCommand}, launchSpec{
		Parent: os.Getpid(), Argv: []string{"/usr/bin/sleep", "1000"}, UID: testUID, GID: testGID, Dir: dir,
	})
	if err != nil {
		return err
	}
	// Threads come and go; the death of another one must not take the process along.
	for range 20 {
		go func() { runtime.LockOSThread() }()
	}
	time.Sleep(50 * time.Millisecond)
	select {
	case <-p.Done():
		return errors.New("the process died with another thread")
	default:
	}
	fmt.Println(p.PID())
	<-p.Done()
	return p.Err()
}
