//go:build vm

package vm_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ai-dossier/zt-operator/internal/brokerproto"
)

// Each script must print what is wanted; it runs in a container of its own.
func TestTheContainerHoldsItsWorker(t *testing.T) {
	v := newMachine(t, map[string]string{"a": "a"}).boot(t, brokerproto.PhaseVerification)
	cases := []struct{ name, script, want string }{
		{"uid and gid are the worker's alone", "id -u; id -g; id -G", `^1000\n1000\n1000$`},
		{"it has no capabilities", "grep -E '^Cap' /proc/self/status | cut -f 2 | sort -u", `^0000000000000000$`},
		{"it can gain no privileges", "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status", `NoNewPrivs:\t1\nSeccomp:\t2$`},
		{"the root is read-only", "touch /x /etc/x /usr/x /ztfc/x /proc/sys/x 2>&1 | grep -c -E 'Read-only|Permission|No such'", `^5$`},
		{"the workspace, the state and /tmp are writable", "touch /workspace/x /opt/ztfc/x /tmp/x && echo ok", `^ok$`},
		{"nothing else is writable", "{ find / -xdev -writable -type d 2>/dev/null | grep -v -E '^/(proc|dev)'; " +
			"for d in $(cut -d ' ' -f 2 /proc/mounts); do [ -d $d ] && [ -w $d ] && echo $d; done; } | sort -u", `^/dev/shm\n/opt/ztfc\n/tmp\n/workspace$`},
		{"there is no report folder unless asked for", "test -e /ztfc/report || echo none", `^none$`},
		{"it has a loopback and no other network", "tail -n +3 /proc/net/dev | cut -d : -f 1 | tr -d ' '", `^lo$`},
		{"its loopback is up", `node -e 'const n=require("net");const s=n.createServer(c=>c.end("ok")).listen(0,"127.0.0.1",()=>n.connect(s.address().port,"127.0.0.1").on("data",d=>{console.log(""+d);s.close()}))'`, `^ok$`},
		{"localhost works by name", `node -e 'const n=require("net");const s=n.createServer(c=>c.end("ok")).listen(0,"localhost",()=>n.connect(s.address().port,"localhost").on("data",d=>{console.log(""+d);s.close()}))'`, `^ok$`},
		{"other names have none", "getent hosts example.org || echo none", `^none$`},
		{"it sees no process but its own", "ls -d /proc/[0-9]* | wc -l", `^[1-6]$`},
		{"it has no devices but the harmless", "find /dev -type c -o -type b | sort | tr '\\n' ' '", `^/dev/full /dev/null /dev/(pts/)?ptmx( /dev/ptmx)? /dev/random /dev/tty /dev/urandom /dev/zero $|^/dev/full /dev/null (/dev/pts/ptmx )?/dev/random /dev/tty /dev/urandom /dev/zero $`},
		{"the broker's port is not there", "ls /dev /sys 2>&1 | grep -c -E 'vport|virtio'; true", `^0$`},
		{"sysfs and the kernel's secrets are masked", "ls /sys | wc -l; cat /proc/kcore /proc/keys 2>/dev/null | wc -c", `^0\n0$`},
		{"user namespaces are refused", "unshare -U true 2>&1 | grep -c 'Operation not permitted'", `^1$`},
		{"mounts are refused", "mount -t tmpfs x /tmp 2>&1 | grep -c -i -E 'permission|must be superuser|not permitted'", `^1$`},
		{"no setuid program is left", "find / -xdev -perm /6000 -type f 2>/dev/null | wc -l", `^0$`},
		{"the shim cannot be traced or read", "cat /proc/1/environ 2>&1 | grep -c 'Permission denied'; ls /proc/1/fd 2>&1 | grep -c 'Permission denied'", `^1\n1$`},
		{"no descriptor is inherited", "ls /proc/self/fd | tr '\\n' ' '", `^0 1 2 3 $`},
		{"standard input is empty", "wc -c", `^0$`},
		{"the environment is the small one", "env | cut -d = -f 1 | grep -v -E '^(PWD|SHLVL|_|OLDPWD)$' | sort | tr '\\n' ' '", `^HOME LANG PATH TERM TMPDIR $`},
		{"the clock is the host's", "test $(date +%Y) -ge 2024 && echo ok", `^ok$`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := v.run(nil, "sh", "-c", c.script)
			got := strings.TrimRight(string(r.Stdout), "\n")
			if c.want[len(c.want)-2] == ' ' {
				got = string(r.Stdout)
			}
			if !regexp.MustCompile(c.want).MatchString(got) {
				t.Errorf("got %q, want %s; stderr %q", got, c.want, r.Stderr)
			}
		})
	}
}

// The calls that a filter must refuse, each tried by number: EPERM, or ENOSYS for
// clone3.
func TestTheSystemCallFilterRefuses(t *testing.T) {
	v := newMachine(t, nil).boot(t, brokerproto.PhaseVerification)
	const script = `perl -e '
		my %calls = (mount=>165, umount2=>166, pivot_root=>155, setns=>308, unshare=>272, bpf=>321, perf_event_open=>298,
			keyctl=>250, add_key=>248, io_uring_setup=>425, userfaultfd=>323, init_module=>175, finit_module=>313,
			kexec_load=>246, reboot=>169, swapon=>167, settimeofday=>164, open_by_handle_at=>304, fsopen=>430, move_mount=>429,
			open_tree=>428, mount_setattr=>442, syslog=>103, quotactl=>179, acct=>163, chroot=>161, iopl=>172);
		for my $name (sort keys %calls) { $! = 0; my $r = syscall($calls{$name}, 0, 0, 0, 0, 0); print "$name: ", $!+0, "\n" unless $r == -1 && $! == 1; }
		$! = 0; syscall(435, 0, 0); print "clone3: ", $!+0, "\n" unless $! == 38;
		$! = 0; syscall(56, 0x10000000 | 17, 0, 0, 0, 0); print "clone NEWUSER: ", $!+0, "\n" unless $! == 1;
		$! = 0; syscall(41, 40, 1, 0); print "vsock: ", $!+0, "\n" unless $! == 1;
		$! = 0; syscall(41, 16, 3, 0) >= 0 or print "netlink is allowed: ", $!+0, "\n";
	'`
	if got := v.sh(script); got != "" {
		t.Errorf("not refused as wanted:\n%s", got)
	}
}
