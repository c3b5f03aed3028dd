package boot

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// Apply sets the clock and feeds the kernel's random number generator from the
// host's welcome. A VM restored from a template would otherwise repeat both.
func Apply(welcome *brokerproto.Welcome) error {
	now := unix.NsecToTimeval(welcome.UnixNanos)
	if err := unix.Settimeofday(&now); err != nil {
		return fmt.Errorf("set the clock: %w", err)
	}
	return seedRandom(welcome.Seed)
}

// entropy is the kernel's struct rand_pool_info with a fixed-size buffer.
type entropy struct {
	bits, bytes int32
	seed        [brokerproto.SeedBytes]byte
}

func seedRandom(seed []byte) error {
	device, err := os.OpenFile("/dev/random", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("seed the random number generator: %w", err)
	}
	defer device.Close()
	pool := entropy{bits: 8 * brokerproto.SeedBytes, bytes: brokerproto.SeedBytes}
	copy(pool.seed[:], seed)
	if err := ioctl(device, unix.RNDADDENTROPY, uintptr(unsafe.Pointer(&pool))); err != nil {
		return fmt.Errorf("seed the random number generator: %w", err)
	}
	// Without a reseed the old state would serve for up to a minute.
	if err := ioctl(device, unix.RNDRESEEDCRNG, 0); err != nil {
		return fmt.Errorf("reseed the random number generator: %w", err)
	}
	return nil
}

func ioctl(device *os.File, request uint, argument uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, device.Fd(), uintptr(request), argument); errno != 0 {
		return errno
	}
	return nil
}
