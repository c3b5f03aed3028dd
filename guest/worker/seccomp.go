package worker

// The seccomp members of an OCI runtime configuration.
type (
	seccomp struct {
		DefaultAction   string        `json:"defaultAction"`
		DefaultErrnoRet uint          `json:"defaultErrnoRet"`
		Architectures   []string      `json:"architectures"`
		Syscalls        []seccompRule `json:"syscalls"`
	}
	seccompRule struct {
		Names    []string     `json:"names"`
		Action   string       `json:"action"`
		ErrnoRet *uint        `json:"errnoRet,omitempty"`
		Args     []seccompArg `json:"args,omitempty"`
	}
	seccompArg struct {
		Index    uint   `json:"index"`
		Value    uint64 `json:"value"`
		ValueTwo uint64 `json:"valueTwo,omitempty"`
		Op       string `json:"op"`
	}
)

const (
	allow = "SCMP_ACT_ALLOW"
	errno = "SCMP_ACT_ERRNO"

	eperm  = 1
	enosys = 38

	// namespaceFlags are CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}.
	namespaceFlags = 0x7e020000
	// vsock is AF_VSOCK, a way to talk to the host.
	vsock = 40
)

// allowlist returns the filter of the worker container: what an unprivileged
// program needs, the set Docker's default profile gives to a container without
// capabilities. Everything else fails with EPERM; foreign system call tables kill.
//
// Left out on purpose: namespaces, mounts, modules, bpf, perf_event_open, keyrings,
// io_uring, userfaultfd, kexec, ptrace-free memory access by pid, and the clock.
func allowlist() *seccomp {
	missing := uint(enosys)
	return &seccomp{
		DefaultAction:   errno,
		DefaultErrnoRet: eperm,
		Architectures:   []string{"SCMP_ARCH_X86_64"},
		Syscalls: []seccompRule{
			{Names: plainSyscalls, Action: allow},
			{Names: []string{"socket"}, Action: allow, Args: []seccompArg{{Index: 0, Value: vsock, Op: "SCMP_CMP_LT"}}},
			{Names: []string{"socket"}, Action: allow, Args: []seccompArg{{Index: 0, Value: vsock, Op: "SCMP_CMP_GT"}}},
			{Names: []string{"clone"}, Action: allow, Args: []seccompArg{{Index: 0, Value: namespaceFlags, Op: "SCMP_CMP_MASKED_EQ"}}},
			// Its flags are in memory, where a filter cannot look. ENOSYS makes libc
			// take clone instead.
			{Names: []string{"clone3"}, Action: errno, ErrnoRet: &missing},
			{Names: []string{"personality"}, Action: allow, Args: []seccompArg{{Index: 0, Value: 0, Op: "SCMP_CMP_EQ"}}},
			{Names: []string{"personality"}, Action: allow, Args: []seccompArg{{Index: 0, Value: 0xffffffff, Op: "SCMP_CMP_EQ"}}},
		},
	}
}

// plainSyscalls are allowed with any arguments.
var plainSyscalls = []string{
	// Files and folders.
	"access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
	"faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat",
	"fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync",
	"ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "inotify_add_watch", "inotify_init",
	"inotify_init1", "inotify_rm_watch", "ioctl", "lchown", "lgetxattr", "link", "linkat", "listxattr", "llistxattr",
	"lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat", "mknod", "mknodat", "newfstatat", "open", "openat",
	"openat2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
	"readlinkat", "readv", "removexattr", "rename", "renameat", "renameat2", "rmdir", "sendfile", "setxattr", "splice",
	"stat", "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "tee", "truncate", "umask",
	"unlink", "unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write", "writev", "cachestat",
	// Memory.
	"brk", "madvise", "map_shadow_stack", "membarrier", "memfd_create", "mincore", "mlock", "mlock2", "mlockall", "mmap",
	"mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect",
	"process_mrelease", "remap_file_pages",
	// Processes, threads and signals.
	"alarm", "arch_prctl", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_requeue", "futex_wait",
	"futex_waitv", "futex_wake", "get_robust_list", "getcpu", "getitimer", "getpgid", "getpgrp", "getpid", "getppid",
	"getpriority", "getrlimit", "getrusage", "getsid", "gettid", "get_thread_area", "kill", "pause", "pidfd_getfd",
	"pidfd_open", "pidfd_send_signal", "prctl", "prlimit64", "process_vm_readv", "process_vm_writev", "ptrace",
	"restart_syscall", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
	"rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
	"sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
	"sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "seccomp", "set_robust_list",
	"set_thread_area", "set_tid_address", "setitimer", "setpgid", "setpriority", "setrlimit", "setsid", "sigaltstack",
	"tgkill", "times", "tkill", "vfork", "wait4", "waitid", "ioprio_get", "ioprio_set",
	"landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self",
	// Identity: reading it, and changes that need no capability.
	"capget", "capset", "getegid", "geteuid", "getgid", "getgroups", "getresgid", "getresuid", "getuid", "setfsgid",
	"setfsuid", "setgid", "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid",
	// Sockets, pipes and polling.
	"accept", "accept4", "bind", "connect", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "getpeername", "getsockname", "getsockopt",
	"listen", "pipe", "pipe2", "poll", "ppoll", "pselect6", "recvfrom", "recvmmsg", "recvmsg", "select", "sendmmsg",
	"sendmsg", "sendto", "setsockopt", "shutdown", "signalfd", "signalfd4", "socketpair",
	// Time.
	"clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep", "time", "timer_create", "timer_delete",
	"timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime",
	// System V and POSIX messages, semaphores and shared memory, in a namespace of their own.
	"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget", "msgrcv",
	"msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
	// Facts about the system, and kernel asynchronous I/O.
	"getrandom", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit", "sysinfo", "uname",
}
