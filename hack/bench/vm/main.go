// Command vm measures the VM's steps and reads what the last demo measured, and
// writes both as JSON. It times; it asserts nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/hack/bench/report"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor/qemu"
)

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
		fmt.Fprintf(os.Stderr, "bench vm: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, b *bench, demo, out string) error {
	result, err := b.measure(ctx)
	if err != nil {
		return err
	}
	if result.Demo, err = readDemo(demo); err != nil {
		return err
	}
	if err := report.Write(out, result); err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	fmt.Println("written to", out)
	return nil
}

// readDemo returns the figures of the last demo's run, or nil if there was none.
func readDemo(dir string) (*report.Run, error) {
	text, err := os.ReadFile(filepath.Join(dir, "ztrun.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the demo's run: %w", err)
	}
	var ztrun v1alpha1.ZTRun
	if err := json.Unmarshal(text, &ztrun); err != nil {
		return nil, fmt.Errorf("decoding the demo's run: %w", err)
	}
	run, err := report.OfRun(&ztrun)
	if errors.Is(err, report.ErrUnfinished) {
		return nil, nil
	}
	return &run, err
}
