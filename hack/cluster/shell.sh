#!/usr/bin/env bash
# shell.sh [COMMAND…]: a shell, or a command, on the node: in the cluster's mount, network and PID namespaces.
. "$(dirname "$0")/../lib.sh"
. "$ROOT/hack/cluster/env.sh"
use_tools
export KUBECONFIG=$KUBECONFIG_FILE

supervisor_alive || die "there is no development cluster; start it with: make cluster-up"
read -r pid _ <"$STATE/supervisor"
# The supervisor's child is process 1 of the namespaces.
node=$(cat "/proc/$pid/task/$pid/children")
[[ $# -gt 0 ]] || set -- bash
exec nsenter --target "${node%% *}" --mount --net --pid -- "$@"
