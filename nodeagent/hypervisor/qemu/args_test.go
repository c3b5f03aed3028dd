package qemu

import (
	"slices"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/brokerproto"
	"github.com/ai-dossier/zt-operator/nodeagent/hypervisor"
)

func provisioning() hypervisor.Config {
	return hypervisor.Config{
		Dir: "/run/zt/a/b", UID: 64000, GID: 64000, CPUs: 2, MemoryMiB: 2048,
		Accelerator: v1alpha1.AcceleratorTCG,
		Scope:       brokerproto.ScopeContainer, Phase: brokerproto.PhaseProvisioning, Nonce: "0123456789abcdef",
		Kernel: "/img/vmlinux", Initrd: "/img/initrd", Root: "/img/root.erofs",
		Disk: "/run/zt/a/b/disk.qcow2", Tree: "/run/zt/a/b.erofs",
		ForwardPort: 40123, Socket: "/run/zt/a/b/b.sock",
	}
}

func verification() hypervisor.Config {
	c := provisioning()
	c.Phase, c.ForwardPort = brokerproto.PhaseVerification, 0
	return c
}

func TestArgsOfProvisioningAreExactlyTheSpecifiedOnes(t *testing.T) {
	want := `-machine q35 -accel tcg,thread=single -cpu Nehalem-v1,+pdpe1gb,vendor=AuthenticAMD -smp 2 -m 2048
-nodefaults -no-user-config -display none -no-reboot -serial none -bios qboot.rom
-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny
-netdev user,id=net0,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:40123-:7480
-device virtio-net-pci,romfile=,netdev=net0,disable-legacy=on
-device virtio-serial-pci,disable-legacy=on -chardev socket,id=ch0,path=/run/zt/a/b/b.sock
-device virtserialport,chardev=ch0,name=org.ai-dossier.zt.broker
-smbios type=11,value=org.ai-dossier.zt.scope:container,value=org.ai-dossier.zt.phase:provisioning,value=org.ai-dossier.zt.nonce:0123456789abcdef
-drive if=none,id=d0,file=/img/root.erofs,format=raw,readonly=on -device virtio-blk-pci,drive=d0,disable-legacy=on
-drive if=none,id=d1,file=/run/zt/a/b/disk.qcow2,format=qcow2,discard=unmap,cache=unsafe -device virtio-blk-pci,drive=d1,disable-legacy=on
-drive if=none,id=d2,file=/run/zt/a/b.erofs,format=raw,readonly=on -device virtio-blk-pci,drive=d2,disable-legacy=on
-device virtio-rng-pci,disable-legacy=on -kernel /img/vmlinux -initrd /img/initrd -append`
	args, err := Args(provisioning())
	if err != nil {
		t.Fatal(err)
	}
	wantArgs := append(strings.Fields(want), "quiet cryptomgr.notests=1 panic=-1")
	if !slices.Equal(args, wantArgs) {
		t.Errorf("got  %q\nwant %q", args, wantArgs)
	}
}

func TestArgsOfVerificationDifferByTheNetworkAndThePhaseOnly(t *testing.T) {
	with, err := Args(provisioning())
	if err != nil {
		t.Fatal(err)
	}
	without, err := Args(verification())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(with, "-netdev")
	want := slices.Delete(slices.Clone(with), at, at+4)
	for i := range want {
		want[i] = strings.Replace(want[i], "phase:provisioning", "phase:verification", 1)
	}
	if !slices.Equal(without, want) {
		t.Errorf("got  %q\nwant %q", without, want)
	}
}

func TestArgsHoldNoPathOutOfTheVM(t *testing.T) {
	forbidden := []string{
		"virtfs", "fsdev", "9p", "vhost", "guestfwd", "monitor", "-mon", "qmp", "daemonize", "-gdb", "-s",
		"file:", "stdio", "pty", "-usb", "-vnc", "-spice", "-object", "-fw_cfg", "-incoming", "-pidfile", "-D", "-d",
	}
	for name, c := range map[string]hypervisor.Config{"provisioning": provisioning(), "verification": verification()} {
		args, err := Args(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range forbidden {
			found := slices.ContainsFunc(args, func(arg string) bool {
				return arg == word || len(word) > 2 && strings.Contains(arg, word)
			})
			if found {
				t.Errorf("%s: %q in %q", name, word, args)
			}
		}
		if i := slices.Index(args, "-serial"); i < 0 || args[i+1] != "none" {
			t.Errorf("%s: a serial console may exist: %q", name, args)
		}
	}
	args, _ := Args(verification())
	for _, arg := range args {
		if strings.Contains(arg, "net") || strings.Contains(arg, "hostfwd") || strings.Contains(arg, "user,") {
			t.Errorf("verification has %q", arg)
		}
	}
}

func TestArgsUseTheAcceleratorTheyAreGiven(t *testing.T) {
	c := provisioning()
	c.Accelerator = v1alpha1.AcceleratorKVM
	args, err := Args(c)
	if err != nil {
		t.Fatal(err)
	}
	if joined := strings.Join(args, " "); !strings.Contains(joined, "-accel kvm -cpu host ") || strings.Contains(joined, "tcg") {
		t.Errorf("got %s", joined)
	}
}

func TestArgsRefuse(t *testing.T) {
	cases := map[string]func(*hypervisor.Config){
		"a path with a comma, which would start a sub-option": func(c *hypervisor.Config) { c.Root = "/img/a,readonly=off" },
		"a path with a newline":                               func(c *hypervisor.Config) { c.Kernel = "/img/a\nb" },
		"a path with a NUL":                                   func(c *hypervisor.Config) { c.Initrd = "/img/a\x00b" },
		"a tree disk that is a protocol":                      func(c *hypervisor.Config) { c.Tree = "nbd://host/x" },
		"a disk that is an option":                            func(c *hypervisor.Config) { c.Disk = "-daemonize" },
		"a path that climbs":                                  func(c *hypervisor.Config) { c.Root = "/img/../etc/shadow" },
		"an empty path":                                       func(c *hypervisor.Config) { c.Tree = "" },
		"a run disk outside the private folder":               func(c *hypervisor.Config) { c.Disk = "/img/disk.qcow2" },
		"a socket outside the private folder":                 func(c *hypervisor.Config) { c.Socket = "/run/b.sock" },
		"a nonce with a comma":                                func(c *hypervisor.Config) { c.Nonce = "0123456789abcdef,value=x" },
		"a nonce that can be guessed":                         func(c *hypervisor.Config) { c.Nonce = "1" },
		"an unknown scope":                                    func(c *hypervisor.Config) { c.Scope = "container,value=x" },
		"an unknown phase":                                    func(c *hypervisor.Config) { c.Phase = "" },
		"an unknown accelerator":                              func(c *hypervisor.Config) { c.Accelerator = "kvm:tcg" },
		"provisioning without a forward":                      func(c *hypervisor.Config) { c.ForwardPort = 0 },
		"a forward port out of range":                         func(c *hypervisor.Config) { c.ForwardPort = 65536 },
		"verification with a forward":                         func(c *hypervisor.Config) { c.Phase = brokerproto.PhaseVerification },
		"no processor":                                        func(c *hypervisor.Config) { c.CPUs = 0 },
		"negative memory":                                     func(c *hypervisor.Config) { c.MemoryMiB = -1 },
		"a socket path over 107 bytes": func(c *hypervisor.Config) {
			c.Dir = "/" + strings.Repeat("x", 107)
			c.Socket, c.Disk = c.Dir+"/s", c.Dir+"/d"
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			c := provisioning()
			change(&c)
			if args, err := Args(c); err == nil {
				t.Errorf("accepted: %q", args)
			}
		})
	}
}

func TestNetworkIsReadFromTheCommandLine(t *testing.T) {
	of := func(c hypervisor.Config) []string {
		args, err := Args(c)
		if err != nil {
			t.Fatal(err)
		}
		return append([]string{"qemu"}, args...)
	}
	cases := map[string]struct {
		argv []string
		want bool
	}{
		"provisioning has one":                    {of(provisioning()), true},
		"verification has none":                   {of(verification()), false},
		"a backend added counts":                  {append(of(verification()), "-netdev", "user,id=x"), true},
		"a backend by another spelling counts":    {append(of(verification()), "--nic", "user"), true},
		"a device without a backend counts":       {append(of(verification()), "-device", "virtio-net-pci"), true},
		"another model counts":                    {append(of(verification()), "-device", "e1000e,id=x"), true},
		"without -nodefaults there is one":        {[]string{"qemu", "-machine", "q35"}, true},
		"a path that looks like an option is not": {append(of(verification()), "-kernel", "/x-netdev"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := mentionsNetwork(c.argv); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
