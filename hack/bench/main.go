// Command bench measures the VM's steps and reads what the last demo measured, and
// writes both as JSON. It times; it asserts nothing.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/qemu"
)

// report is the benchmark's result. Durations are in milliseconds.
type report struct {
	Accelerator string            `json:"accelerator"`
	QEMU        string            `json:"qemu"`
	CPUs        int               `json:"cpus"`
	VM          map[string]figure `json:"vm"`
	Run         *runFigures       `json:"run,omitempty"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == qemu.LaunchCommand {
		qemu.LaunchMain()
	}
	var b bench
	out := flag.String("out", "out/bench/vm.json", "file to write")
	demo := flag.String("demo", "out/demo", "folder of the last demo; skipped if it has none")
	flag.IntVar(&b.runs, "runs", 5, "VMs to boot")
	flag.StringVar(&b.kernel, "kernel", os.Getenv("ZT_VM_KERNEL"), "guest kernel")
	flag.StringVar(&b.initrd, "initrd", os.Getenv("ZT_VM_INITRD"), "guest initial RAM disk")
	flag.StringVar(&b.root, "root", os.Getenv("ZT_VM_ROOT"), "worker root, erofs")
	flag.StringVar(&b.qemu, "qemu", "/usr/bin/qemu-system-x86_64", "QEMU binary")
	flag.StringVar(&b.firmware, "firmware-dir", "/usr/share/qemu", "directory of QEMU's firmware")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &b, *demo, *out); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, b *bench, demo, out string) error {
	result, err := b.measure(ctx)
	if err != nil {
		return err
	}
	if result.Run, err = readDemo(demo); err != nil {
		return err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	if err := os.WriteFile(out, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	fmt.Printf("%s\nwritten to %s\n", text, out)
	return nil
}
