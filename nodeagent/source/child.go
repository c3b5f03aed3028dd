package source

import (
	"fmt"
	"os"
)

// ChildMain is the entry of the child process. It never returns.
func ChildMain() {
	fmt.Fprintln(os.Stderr, "not built yet")
	os.Exit(1)
}
