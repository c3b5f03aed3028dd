# shellcheck shell=bash
# What the cluster changes for the whole machine: kernel settings (restored) and cgroups (removed).

# What the kubelet and forwarding set outside any namespace.
KERNEL_SETTINGS=(net.ipv4.ip_forward vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops
	kernel.keys.root_maxkeys kernel.keys.root_maxbytes)

save_kernel_settings() { sysctl -e "${KERNEL_SETTINGS[@]}" >"$STATE/sysctl.saved"; }

restore_kernel_settings() { [[ ! -e $STATE/sysctl.saved ]] || sysctl -qep "$STATE/sysctl.saved" || true; }

# cgroup_roots prints the mounted hierarchies: one folder per controller with cgroup v1, one with v2.
cgroup_roots() {
	if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
		echo /sys/fs/cgroup
	else
		find /sys/fs/cgroup -mindepth 1 -maxdepth 1 -type d
	fi
}

make_cgroups() {
	local root
	for root in $(cgroup_roots); do
		mkdir -p "$root/$CGROUP"
		[[ ! -e $root/$CGROUP/cpuset.cpus ]] || fill_cpuset "$root"
		[[ ! -e $root/cgroup.controllers || $root == */unified ]] || delegate "$root"
	done
	mkdir -p "$(node_cgroup)"
}

# A new v1 cpuset is empty, and nothing can run in an empty one.
fill_cpuset() {
	local file
	for file in cpuset.cpus cpuset.mems; do cat "$1/$file" >"$1/$CGROUP/$file"; done
}

# delegate ROOT (v2) gives our group every controller that the machine's root has.
delegate() {
	local controllers group
	controllers=$(sed 's/\([a-z]*\)/+\1/g' "$1/cgroup.controllers")
	for group in "$1" "$1/$CGROUP"; do echo "$controllers" >"$group/cgroup.subtree_control" || true; done
}

# node_cgroup is the group of the node's own daemons: whoever is in it, or in a pod's, is ours to end.
node_cgroup() {
	if [[ -e /sys/fs/cgroup/pids ]]; then echo "/sys/fs/cgroup/pids/$CGROUP/node"; else echo "/sys/fs/cgroup/$CGROUP/node"; fi
}

cgroup_processes() { find "$(node_cgroup)/.." -name cgroup.procs -exec cat {} + 2>/dev/null || true; }

# remove_cgroups from the leaves up.
remove_cgroups() {
	local root
	for root in $(cgroup_roots); do
		[[ ! -d $root/$CGROUP ]] || find "$root/$CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done
}

cgroups_left() {
	local root
	for root in $(cgroup_roots); do [[ ! -d $root/$CGROUP ]] || echo "$root/$CGROUP"; done
}
