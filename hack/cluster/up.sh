#!/usr/bin/env bash
# up.sh: starts the development cluster: one Kubernetes node in namespaces of its own, with DNS, NetworkPolicy and a
# registry. Does nothing when it is up already. Prints the path of its kubeconfig.
. "$(dirname "$0")/../lib.sh"
alone cluster "$0" "$@"
. "$ROOT/hack/cluster/env.sh"
. "$ROOT/hack/cluster/pki.sh"
. "$ROOT/hack/cluster/network.sh"
. "$ROOT/hack/cluster/kernel.sh"
use_tools
export KUBECONFIG=$KUBECONFIG_FILE

# refuse_others: one cluster per machine; whose it is stands in its state.
refuse_others() {
	local owner
	owner=$(cat "$STATE/owner" 2>/dev/null || true)
	if supervisor_alive && [[ $owner != "$ROOT" ]]; then
		die "a development cluster of another checkout is running ($owner); end it with: make -C $owner cluster-down"
	fi
	if ! supervisor_alive && ip -4 -br address show to "$NODE_SUBNET" | grep -vq "^$LINK"; then
		die "the machine already uses addresses in $NODE_SUBNET, which the development cluster needs"
	fi
}

already_up() {
	trap failed EXIT
	supervisor_alive && [[ -e $STATE/ready ]] && kubectl get --raw /readyz >/dev/null 2>&1
}

prepare() {
	mkdir -p "$STATE"/{log,config,cni,registry} "$STATE/certs.d/$(cluster_registry)"
	echo "$ROOT" >"$STATE/owner"
	save_kernel_settings
	make_cgroups
	(make_pki)
	resolv_conf >"$STATE/resolv.conf"
	local file
	for file in containerd.toml kubelet.yaml kube-proxy.yaml; do
		render "$ROOT/hack/cluster/config/$file" >"$STATE/config/$file"
	done
	render "$ROOT/hack/cluster/config/10-bridge.conflist" >"$STATE/cni/10-bridge.conflist"
	render "$ROOT/hack/cluster/config/hosts.toml" >"$STATE/certs.d/$(cluster_registry)/hosts.toml"
}

# start_node: the namespaces and everything in them end with the supervisor. Mounts are private: none leaks out.
start_node() {
	(
		echo "$BASHPID" >"$(node_cgroup)/cgroup.procs"
		exec setsid unshare --mount --net --pid --fork --kill-child=SIGKILL --mount-proc --propagation private \
			"$ROOT/hack/cluster/node.sh" >"$STATE/log/node.log" 2>&1 </dev/null
	) &
	local pid=$!
	disown "$pid"
	echo "$pid $(start_time "$pid")" >"$STATE/supervisor"
	node_reached isolated
	link_up "$pid"
}

# node_reached MARK waits until node.sh says so, or has ended.
node_reached() {
	until [[ -e $STATE/$1 ]]; do
		supervisor_alive || { cat "$STATE/log/node.log"; return 1; }
		read -rt 0.1 <> <(:) || true
	done
}

push_system_images() {
	until_ok 30 "the registry" curl -fs "http://$(cluster_registry)/v2/"
	local name
	for name in pause coredns; do crane push "$CACHE/images/$name" "$(cluster_registry)/$name:dev"; done
}

control_plane_started() {
	node_reached started
	until_ok 60 "the default service account" kubectl -n default get serviceaccount default
}

system_pods() {
	render "$ROOT/hack/cluster/manifests/dns.yaml" | kubectl apply -f -
	kubectl wait --for=condition=Ready "node/$NODE" --timeout=60s
	kubectl -n kube-system rollout status deployment/coredns --timeout=90s
}

# failed runs on any exit before the cluster is ready: its logs are kept, the rest is removed.
failed() {
	[[ ! -e $STATE/ready ]] || return 0
	mkdir -p "$OUT/cluster-log"
	cp -r "$STATE/log/." "$OUT/cluster-log/" 2>/dev/null || true
	"$ROOT/hack/cluster/down.sh" || true
	say "error: the cluster did not start; the logs of its daemons are in out/cluster-log"
}

up() {
	trap failed EXIT
	step "prepare the cluster's certificates and configuration" prepare
	start_node >&2
	step "start the registry and push the cluster's own images" push_system_images
	step "start Kubernetes $KUBE_VERSION" control_plane_started
	step "start the node and DNS" system_pods
	touch "$STATE/ready"
}

[[ $EUID -eq 0 ]] || die "the development cluster needs root (namespaces, mounts, cgroups)"
"$ROOT/hack/deps.sh"
refuse_others
if already_up; then
	say "✓ the cluster is up already"
else
	[[ ! -e $STATE ]] || "$ROOT/hack/cluster/down.sh"
	"$ROOT/hack/tools.sh" crane kubernetes kube-router
	"$ROOT/hack/images/build.sh" pause coredns
	start=$EPOCHREALTIME
	up
	say "✓ the cluster is up ($(elapsed "$start") s)"
fi
echo "$KUBECONFIG_FILE"
