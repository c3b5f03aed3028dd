package boot

import (
	"fmt"
	"os"
)

// sysctls narrow what the kernel offers to the worker, beside its seccomp filter.
// The last of them closes the module loader, so it comes after every module.
var sysctls = []struct{ path, value string }{
	{"kernel/unprivileged_bpf_disabled", "1"},
	{"kernel/kptr_restrict", "2"},
	{"kernel/dmesg_restrict", "1"},
	{"kernel/perf_event_paranoid", "3"},
	{"kernel/kexec_load_disabled", "1"},
	{"kernel/core_pattern", "|/bin/false"},
	{"kernel/panic_on_oops", "1"},
	{"user/max_user_namespaces", "0"},
	{"kernel/modules_disabled", "1"},
}

func harden() error {
	for _, s := range sysctls {
		if err := os.WriteFile("/proc/sys/"+s.path, []byte(s.value), 0); err != nil {
			return fmt.Errorf("set %s: %w", s.path, err)
		}
	}
	return nil
}
