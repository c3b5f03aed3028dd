package relay

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The addresses that slirp gives out; static, so that no DHCP is needed.
var (
	guestAddress = [4]byte{10, 0, 2, 15}
	guestMask    = [4]byte{255, 255, 255, 0}

	// HostAddress is where the host's connections come from.
	HostAddress = net.IPv4(10, 0, 2, 2)
)

const (
	nic     = "eth0"
	nicWait = 10 * time.Second
)

// NICUp gives the VM's network card its address and starts it. There is no route
// beyond its own network.
func NICUp() error {
	if err := waitForNIC(); err != nil {
		return err
	}
	// Nothing here speaks IPv6.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network card: %w", err)
	}
	defer unix.Close(fd)
	err = errors.Join(
		setAddress(fd, unix.SIOCSIFADDR, guestAddress),
		setAddress(fd, unix.SIOCSIFNETMASK, guestMask),
		setUp(fd),
	)
	if err != nil {
		return fmt.Errorf("network card: %w", err)
	}
	return nil
}

func setAddress(fd int, request uint, address [4]byte) error {
	ifreq, err := unix.NewIfreq(nic)
	if err != nil {
		return err
	}
	if err := ifreq.SetInet4Addr(address[:]); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, request, ifreq)
}

func setUp(fd int) error {
	ifreq, err := unix.NewIfreq(nic)
	if err != nil {
		return err
	}
	ifreq.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifreq)
}

func waitForNIC() error {
	deadline := time.Now().Add(nicWait)
	for {
		if _, err := os.Stat("/sys/class/net/" + nic); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("network card: there is none")
		}
		time.Sleep(time.Millisecond)
	}
}
