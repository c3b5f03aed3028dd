#!/usr/bin/env bash
# down.sh: removes what demo.sh made. Of a cluster of the demo's own nothing needs to be taken apart: hack/cluster/down.sh
# ends it. From an existing cluster the runs go first, while the operator is there to clean up after them.
. "$(dirname "$0")/../lib.sh"
use_tools

leave_existing() {
	if kubectl get crd ztruns.zt.ai-dossier.org >/dev/null 2>&1; then
		kubectl delete ztruns --all --all-namespaces --timeout=300s
	fi
	helm uninstall zt-operator --namespace zt-system --ignore-not-found --wait --timeout 180s
	kubectl delete -f "$ROOT/charts/zt-operator/crds" --ignore-not-found --timeout=60s
	kubectl delete namespace zt-demo zt-runs zt-system --ignore-not-found --timeout=180s
}

[[ ${CLUSTER-} != existing ]] || step "remove the demo from the cluster" leave_existing
rm -rf "$OUT/demo"
