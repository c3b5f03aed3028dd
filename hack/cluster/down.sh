#!/usr/bin/env bash
# down.sh: ends the development cluster and removes all that it made outside the cache: processes, mounts, namespaces,
# cgroups, network devices, firewall rules, kernel settings, files. Safe to repeat, and after a crash.
. "$(dirname "$0")/../lib.sh"
alone cluster "$0" "$@"
. "$ROOT/hack/cluster/env.sh"
. "$ROOT/hack/cluster/network.sh"
. "$ROOT/hack/cluster/kernel.sh"

refuse_others() {
	local owner
	owner=$(cat "$STATE/owner" 2>/dev/null || echo "$ROOT")
	if supervisor_alive && [[ $owner != "$ROOT" && -z ${FORCE-} ]]; then
		die "the running development cluster belongs to another checkout ($owner); FORCE=1 ends it all the same"
	fi
}

# end_processes: all namespaces hang on the supervisor; what is in the cluster's cgroups is waited for, and killed again.
end_processes() {
	local pid
	if supervisor_alive; then
		read -r pid _ <"$STATE/supervisor"
		kill -KILL "$pid" || true
	fi
	local end=$((SECONDS + 30))
	while [[ -n $(cgroup_processes) ]]; do
		((SECONDS < end)) || { say "these processes do not end: $(cgroup_processes | tr '\n' ' ')"; return 1; }
		for pid in $(cgroup_processes); do kill -KILL "$pid" 2>/dev/null || true; done
		read -rt 0.05 <> <(:) || true
	done
}

# remove_state never follows a mount: a hostPath of a pod is not ours to empty.
remove_state() {
	until_ok 10 "mounts under $STATE" no_mounts
	rm -rf --one-file-system "$STATE"
}

no_mounts() { ! grep -q " $STATE/" /proc/self/mountinfo; }

down() {
	end_processes
	link_down
	until_ok 10 "cgroups to be empty" gone
	restore_kernel_settings
	remove_state
}

gone() {
	remove_cgroups
	[[ -z $(cgroups_left) ]]
}

[[ $EUID -eq 0 ]] || die "the development cluster belongs to root"
refuse_others
if [[ -e $STATE || -n $(cgroups_left) ]] || ip link show "$LINK" >/dev/null 2>&1; then
	step "end the cluster and remove what it made" down
else
	say "✓ there is no cluster"
fi
