#!/usr/bin/env bash
# install.sh: installs or upgrades the chart in the cluster of the current kubeconfig and waits until runs are admitted.
. "$(dirname "$0")/../lib.sh"
use_tools

CHART=$ROOT/charts/zt-operator
SYSTEM=zt-system
# The registries' certificates: what this machine trusts, if it says so where Debian does. ZT_CA_BUNDLE names another file;
# empty, Squid trusts what its image does.
SYSTEM_CAS=/etc/ssl/certs/ca-certificates.crt
CA_BUNDLE=${ZT_CA_BUNDLE-$([[ ! -e $SYSTEM_CAS ]] || echo "$SYSTEM_CAS")}

# Helm neither labels a namespace that it makes nor updates CRDs.
prepare() {
	kubectl create namespace "$SYSTEM" --dry-run=client -o yaml | kubectl apply --server-side -f -
	kubectl label --overwrite namespace "$SYSTEM" pod-security.kubernetes.io/enforce=privileged
	kubectl apply --server-side --force-conflicts -f "$CHART/crds"
	kubectl wait --for=condition=Established --timeout=60s -f "$CHART/crds"
}

chart() {
	local values arguments=()
	values=$(mktemp)
	"$ROOT/hack/demo/values.sh" >"$values"
	[[ -z $CA_BUNDLE ]] || arguments+=(--set-file "caBundle.pem=$CA_BUNDLE")
	helm upgrade --install zt-operator "$CHART" --namespace "$SYSTEM" --skip-crds -f "$values" "${arguments[@]}"
	rm -f "$values"
}

rolled_out() {
	kubectl -n "$SYSTEM" rollout status deployment/zt-operator --timeout=180s
	kubectl -n "$SYSTEM" rollout status daemonset/zt-node-agent --timeout=180s
}

# ready waits for the default policy and profile, and shows what is wrong if they do not get there.
ready() {
	kubectl wait --for=condition=Valid proxypolicy/default --timeout=60s &&
		kubectl wait --for=condition=Ready ztprofile/default --timeout=600s && return
	kubectl get ztprofile,proxypolicy default -o yaml
	kubectl -n "$SYSTEM" logs --all-containers --tail=20 -l app.kubernetes.io/name=zt-operator
	return 1
}

step "apply the CRDs" prepare
step "install the chart" chart
step "wait for the operator and the node agent" rolled_out
step "wait until the default policy is valid and a node has baked the default profile" ready
