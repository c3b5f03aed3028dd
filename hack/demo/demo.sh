#!/usr/bin/env bash
# demo.sh: from nothing to a verdict. CLUSTER=existing REGISTRY=… uses the current kubeconfig instead of a cluster of
# our own, and pushes the images to that registry.
# shellcheck disable=SC2317 # functions are called through timed
. "$(dirname "$0")/../lib.sh"
. "$ROOT/hack/demo/steps.sh"
use_tools

NAMESPACE=zt-demo
FIXTURE=$ROOT/fixtures/ecosystem/npm
export CLUSTER=${CLUSTER:-dev} REGISTRY=${REGISTRY-}
# kubectl finds its plug-in beside the project's other binaries.
export PATH=$OUT/bin:$PATH

check_usage() {
	[[ $CLUSTER == dev || $CLUSTER == existing ]] || die "CLUSTER is '$CLUSTER', expected dev or existing"
	[[ $CLUSTER == dev || -n $REGISTRY ]] || die "CLUSTER=existing needs REGISTRY=…, where the cluster can pull images from"
	[[ $CLUSTER == existing || $EUID -eq 0 ]] || die "the demo's own cluster needs root; CLUSTER=existing REGISTRY=… does not"
}

cluster() {
	timed packages "Debian packages" /var/lib/dpkg/status "$ROOT/hack/deps.sh"
	timed tools "Kubernetes $KUBE_VERSION, Helm and kube-router" "$CACHE/tools $KUBE_DIR" "$ROOT/hack/tools.sh" crane kubernetes helm kube-router
	timed cluster "A single-node cluster in namespaces of its own" "$STATE/supervisor" "$ROOT/hack/cluster/up.sh"
	# shellcheck source=hack/cluster/env.sh
	. "$ROOT/hack/cluster/env.sh"
	export KUBECONFIG=$KUBECONFIG_FILE
}

existing_cluster() {
	timed tools "kubectl, Helm and crane" "$CACHE/tools $KUBE_DIR" "$ROOT/hack/tools.sh" crane kubernetes helm
	kubectl version >/dev/null || die "the current kubeconfig reaches no cluster"
}

images() {
	timed images "Container images from images/*/Dockerfile" "$CACHE/images" "$ROOT/hack/images/build.sh"
	timed push "Images by digest to the registry" "" "$ROOT/hack/images/push.sh"
}

# run_arguments NAME
run_arguments() {
	printf '%s\n' --namespace "$NAMESPACE" --name "$1" --repo "$DEMO/repository" \
		--base base --regression-test regression-test --candidate fix
	git -C "$DEMO/repository" diff --name-only --diff-filter=A base regression-test -- '*.test.*' | sed 's/^/--target=/'
}

prepare_run() {
	mkdir -p "$DEMO"
	"$ROOT/hack/build.sh" kubectl-zt
	"$ROOT/hack/demo/repository.sh" "$FIXTURE" "$DEMO/repository"
	kubectl create namespace "$NAMESPACE" --dry-run=client -o yaml | kubectl apply --server-side -f -
	# The same run as a file, for plain kubectl apply.
	local arguments
	mapfile -t arguments < <(run_arguments demo-manifest)
	kubectl zt run "${arguments[@]}" --dry-run=client -o yaml >"$DEMO/manifest.yaml"
}

# run_demo shows the progress and the verdict; any verdict is a result to look at, so its exit code is kept for the end.
run_demo() {
	local arguments
	mapfile -t arguments < <(run_arguments "$RUN")
	say "  kubectl zt run ${arguments[*]}"
	kubectl zt run "${arguments[@]}" --timeout=30m || VERDICT=$?
}

show() {
	kubectl -n "$NAMESPACE" get ztr "$RUN" -o json >"$DEMO/ztrun.json"
	title "kubectl -n $NAMESPACE get ztr"
	kubectl -n "$NAMESPACE" get ztr
	title "kubectl -n $NAMESPACE describe ztr $RUN"
	kubectl -n "$NAMESPACE" describe ztr "$RUN"
}

next() {
	local lines=()
	[[ $CLUSTER == existing ]] || lines+=("export KUBECONFIG=$KUBECONFIG PATH=$OUT/bin:$KUBE_DIR:\$PATH")
	lines+=(
		"kubectl apply -f ${DEMO#"$ROOT"/}/manifest.yaml           the same run without the plug-in"
		"kubectl zt watch -n $NAMESPACE demo-manifest         … and its verdict"
		"kubectl explain ztrun.status                    what each field means"
		"kubectl get ztprofile,proxypolicy               what a VM is, and what it may download"
		"make demo                                       again, with everything cached"
		"make demo-down                                  remove all of it"
	)
	title "What to try next" "${lines[@]}"
}

# verdict: the last word, and the exit code.
verdict() {
	if [[ $VERDICT -eq 0 ]]; then
		title "✓ reproduced_and_fixed, $(elapsed "$DEMO_START") s after make demo"
	else
		title "✗ the verdict is not reproduced_and_fixed (exit code $VERDICT)"
	fi
	exit "$VERDICT"
}

# One function, so that bash has read the whole script before a long step begins.
main() {
	check_usage
	RUN=demo-$(date -u +%H%M%S) VERDICT=0
	trap write_timings EXIT
	if [[ $CLUSTER == dev ]]; then cluster; else existing_cluster; fi
	images
	timed install "The chart: operator, node agent, default profile and policy" "" "$ROOT/hack/demo/install.sh"
	timed repository "A git repository with a bug, its regression test and a fix" "" prepare_run
	timed run "The proof: three fresh VMs" "" run_demo
	show
	next
	verdict
}

main
