package boot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folders of the initramfs with the kernel modules of a stage. Their names begin
// with a number that gives the order of loading.
const (
	modulesBoot = "/modules/boot"
	modulesNet  = "/modules/net"
)

// loadModules loads every module of a stage in order.
func loadModules(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.ko"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := loadModule(name); err != nil {
			return err
		}
	}
	return nil
}

func loadModule(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("load module: %w", err)
	}
	defer file.Close()
	err = unix.FinitModule(int(file.Fd()), "", 0)
	// ENODEV: a driver of a processor feature that this machine lacks.
	if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("load module %s: %w", filepath.Base(name), err)
	}
	return nil
}
