// Command guest-agent is PID 1 of every VM and, under another name, the first
// process of the worker container inside it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ai-dossier/zt-operator/guest/agent"
	"github.com/ai-dossier/zt-operator/guest/shim"
)

func main() {
	if filepath.Base(os.Args[0]) == shim.Name && len(os.Args) > 1 {
		shim.Main(os.Args[1:])
		return
	}
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest-agent: runs as the first process of a VM only")
		os.Exit(2)
	}
	agent.Main()
}
