package qemu

import (
	"os"
	"testing"
)

// TestMain makes the test binary its own launch shim, as the node agent is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == LaunchCommand {
		LaunchMain()
	}
	os.Exit(m.Run())
}
