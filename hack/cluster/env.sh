# shellcheck shell=bash
# Addresses and names of the development cluster. Constants: there is one such cluster per machine.
# shellcheck disable=SC2034 # read by the scripts that source this file
{
	NODE=n1
	NODE_IP=192.168.77.1
	MACHINE_IP=192.168.77.254
	NODE_SUBNET=192.168.77.0/24
	POD_SUBNET=10.244.0.0/24
	SERVICE_SUBNET=10.96.0.0/16
	DNS_IP=10.96.0.10
	REGISTRY_PORT=5000
	LINK=zt-dev          # the machine's end of the link to the node, and its nft table
	CGROUP=zt-dev
	KUBECONFIG_FILE=$STATE/kubeconfig
}

# cluster_registry is where the node, its pods and the machine all reach the cluster's registry.
cluster_registry() { echo "$NODE_IP:$REGISTRY_PORT"; }

# image_ref NAME prints the reference, by digest, of an image that hack/images/build.sh built.
image_ref() { echo "${REGISTRY:-$(cluster_registry)}/$1@$(cat "$CACHE/images/$1.digest")"; }

# render FILE fills the @NAME@ places of a configuration.
render() {
	sed -e "s|@STATE@|$STATE|g" -e "s|@CGROUP@|$CGROUP|g" -e "s|@NODE_IP@|$NODE_IP|g" -e "s|@DNS_IP@|$DNS_IP|g" \
		-e "s|@POD_SUBNET@|$POD_SUBNET|g" -e "s|@REGISTRY@|$(cluster_registry)|g" \
		-e "s|@PAUSE@|$(image_ref pause)|g" -e "s|@COREDNS@|$(image_ref coredns)|g" "$1"
}

# supervisor_alive: the process that holds the cluster's namespaces is the one we started (a pid alone may be reused).
supervisor_alive() {
	local pid start
	[[ -r $STATE/supervisor ]] || return 1
	read -r pid start <"$STATE/supervisor"
	[[ -n $start && $(start_time "$pid") == "$start" ]]
}

# start_time PID: in clock ticks since boot, unique together with the pid.
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20; }
