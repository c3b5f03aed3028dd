#!/usr/bin/env bash
# node.sh: the node itself. Runs as process 1 of the cluster's own mount, network and PID namespaces; it ends when any of
# its daemons ends, and with it everything in the cluster.
. "$(dirname "$0")/../lib.sh"
. "$ROOT/hack/cluster/env.sh"
use_tools

PKI=$STATE/pki
export KUBECONFIG=$KUBECONFIG_FILE TMPDIR=$STATE/tmp

main() {
	private_folders
	touch "$STATE/isolated"
	until_ok 30 "the link to the machine" ip link show node0
	network
	registry
	containerd_daemon
	control_plane
	until_ok 60 "containerd" ctr version
	kubelet_daemon
	until_ok 120 "the API server" kubectl get --raw /readyz
	controllers
	touch "$STATE/started"
	wait -n -p ended || true
	say "a daemon ended: $(cat "$STATE/pid.${ended:-unknown}" 2>/dev/null)"
}

# private_folders: what pods and daemons write under /run, /var/lib and /var/log stays in the cluster's own state.
private_folders() {
	mount --make-rshared /
	mount -t tmpfs -o mode=755 tmpfs /run
	mkdir -p /run/netns /run/lock
	local folder
	for folder in lib log; do
		mkdir -p "$STATE/var/$folder"
		mount --bind "$STATE/var/$folder" "/var/$folder"
	done
	mkdir -p "$STATE"/{tmp,manifests,volumeplugins,pods} /var/lib/cni /var/lib/kubelet /var/log/containers
}

network() {
	ip link set lo up
	ip address add "$NODE_IP/24" dev node0
	ip link set node0 up
	ip route add default via "$MACHINE_IP"
	sysctl -qw net.ipv4.ip_forward=1
	sysctl -qew net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-ip6tables=1
	# Pods appear to the machine as the node; among themselves they keep their own addresses.
	nft -f - <<-EOF
		table ip $LINK {
			chain postrouting {
				type nat hook postrouting priority srcnat + 10;
				ip saddr $POD_SUBNET oifname "node0" masquerade
			}
		}
	EOF
}

# daemon NAME COMMAND… starts a daemon of the node.
daemon() {
	local name=$1
	shift
	"$@" >"$STATE/log/$name.log" 2>&1 </dev/null &
	echo "$name" >"$STATE/pid.$!"
}

registry() { daemon registry crane registry serve --address "0.0.0.0:$REGISTRY_PORT" --disk "$STATE/registry"; }

containerd_daemon() { daemon containerd containerd --config "$STATE/config/containerd.toml"; }

control_plane() {
	local etcd=http://127.0.0.1:2379
	daemon etcd etcd --data-dir "$STATE/etcd" --unsafe-no-fsync --log-level warn \
		--listen-client-urls $etcd --advertise-client-urls $etcd --listen-peer-urls http://127.0.0.1:2380
	daemon kube-apiserver kube-apiserver --etcd-servers=$etcd \
		--bind-address="$NODE_IP" --advertise-address="$NODE_IP" --secure-port=6443 \
		--tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" --client-ca-file="$PKI/ca.crt" \
		--kubelet-client-certificate="$PKI/apiserver-kubelet-client.crt" \
		--kubelet-client-key="$PKI/apiserver-kubelet-client.key" --kubelet-certificate-authority="$PKI/ca.crt" \
		--kubelet-preferred-address-types=InternalIP \
		--requestheader-client-ca-file="$PKI/ca.crt" --requestheader-allowed-names=front-proxy-client \
		--requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
		--requestheader-extra-headers-prefix=X-Remote-Extra- \
		--proxy-client-cert-file="$PKI/front-proxy-client.crt" --proxy-client-key-file="$PKI/front-proxy-client.key" \
		--service-account-issuer=https://kubernetes.default.svc.cluster.local \
		--service-account-key-file="$PKI/sa.pub" --service-account-signing-key-file="$PKI/sa.key" \
		--service-cluster-ip-range="$SERVICE_SUBNET" \
		--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true
}

kubelet_daemon() {
	daemon kubelet kubelet --config="$STATE/config/kubelet.yaml" --kubeconfig="$PKI/kubelet.conf" \
		--hostname-override="$NODE" --node-ip="$NODE_IP" --v=2
}

# same_identity NAME prints the three flags that every controller takes for its credentials.
same_identity() { printf -- '--kubeconfig=%s\n--authentication-kubeconfig=%s\n--authorization-kubeconfig=%s\n' "$PKI/$1.conf"{,,}; }

controllers() {
	local flags
	mapfile -t flags < <(same_identity kube-controller-manager)
	# At the default rate the first service accounts take seconds to appear.
	daemon kube-controller-manager kube-controller-manager "${flags[@]}" --kube-api-qps=1000 --kube-api-burst=2000 \
		--bind-address=127.0.0.1 --leader-elect=false --use-service-account-credentials \
		--flex-volume-plugin-dir="$STATE/volumeplugins" \
		--service-account-private-key-file="$PKI/sa.key" --root-ca-file="$PKI/ca.crt" \
		--cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" \
		--allocate-node-cidrs --cluster-cidr=10.244.0.0/16 --service-cluster-ip-range="$SERVICE_SUBNET"
	mapfile -t flags < <(same_identity kube-scheduler)
	daemon kube-scheduler kube-scheduler "${flags[@]}" --bind-address=127.0.0.1 --leader-elect=false
	daemon kube-proxy kube-proxy --config="$STATE/config/kube-proxy.yaml" --hostname-override="$NODE"
	until_ok 60 "the node" kubectl get node "$NODE" -o 'jsonpath={.spec.podCIDR}'
	# NetworkPolicy only: kube-proxy does the services, the bridge does the pod network.
	daemon kube-router kube-router --kubeconfig="$KUBECONFIG_FILE" --hostname-override="$NODE" \
		--run-firewall=true --run-router=false --run-service-proxy=false --run-loadbalancer=false --enable-cni=false \
		--service-cluster-ip-range="$SERVICE_SUBNET"
}

main
