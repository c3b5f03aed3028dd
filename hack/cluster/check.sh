#!/usr/bin/env bash
# check.sh: proves on the running cluster what the project relies on: images by digest, DNS, the registries through address
# translation, and NetworkPolicy that is enforced and not only stored.
. "$(dirname "$0")/../lib.sh"
. "$ROOT/hack/cluster/env.sh"
use_tools
export KUBECONFIG=$KUBECONFIG_FILE

NAMESPACE=zt-check
CA_BUNDLE=${ZT_CA_BUNDLE:-/etc/ssl/certs/ca-certificates.crt}

k() { kubectl --namespace "$NAMESPACE" "$@"; }

pods() {
	crane manifest "$(image_ref mirror-npm)" >/dev/null 2>&1 ||
		crane push "$CACHE/images/mirror-npm" "$(cluster_registry)/mirror-npm:check"
	kubectl create namespace "$NAMESPACE"
	k create configmap ca --from-file=ca.crt="$CA_BUNDLE"
	sed "s|@IMAGE@|$(image_ref mirror-npm)|" "$ROOT/hack/cluster/manifests/check.yaml" | k apply -f -
	k wait --for=condition=Ready pod/server pod/client --timeout=90s
}

# call HOST PORT: from the client pod; fails when refused or silent for 3 seconds.
call() {
	k exec client -- node -e '
		const [host, port] = process.argv.slice(1)
		require("net").connect({host, port}, () => process.exit(0)).on("error", () => process.exit(1))
		setTimeout(() => process.exit(1), 3000)
	' "$1" "$2"
}

fetch() { k exec client -- node -e 'fetch(process.argv[1]).then(r => process.exit(r.status === 200 ? 0 : 1), e => { console.error(e); process.exit(1) })' "$1"; }

refused() { ! call "$1" "$2"; }

# policy NAME SPEC
policy() { printf 'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: %s}\nspec: %s\n' "$1" "$2" | k apply -f -; }

reaches_registry() { until_ok 30 "the registry to answer" fetch https://registry.npmjs.org/ms; }

ingress_is_enforced() {
	until_ok 20 "the pod to be reachable" call "$server" 8000
	policy server '{podSelector: {matchLabels: {app: server}}, policyTypes: [Ingress]}'
	until_ok 20 "a denied connection" refused "$server" 8000
	policy server '{podSelector: {matchLabels: {app: server}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: client}}}]}]}'
	until_ok 20 "an allowed connection" call "$server" 8000
	policy server '{podSelector: {matchLabels: {app: server}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: other}}}]}]}'
	until_ok 20 "a connection denied to the wrong pod" refused "$server" 8000
	k delete networkpolicy server
	until_ok 20 "a connection without policy" call "$server" 8000
}

egress_is_enforced() {
	policy client '{podSelector: {matchLabels: {app: client}}, policyTypes: [Egress]}'
	until_ok 20 "a denied connection to a pod" refused "$server" 8000
	refused "$NODE_IP" "$REGISTRY_PORT"
	refused "$DNS_IP" 53
	refused registry.npmjs.org 443
}

trap 'kubectl delete namespace "$NAMESPACE" --ignore-not-found --wait >/dev/null 2>&1' EXIT
"$ROOT/hack/images/build.sh" mirror-npm
step "a pod starts from the registry by digest" pods
server=$(k get pod server -o 'jsonpath={.status.podIP}')
step "a pod resolves and fetches from the npm registry" reaches_registry
step "NetworkPolicy is enforced on ingress" ingress_is_enforced
step "NetworkPolicy is enforced on egress" egress_is_enforced
