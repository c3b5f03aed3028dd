#!/usr/bin/env bash
# render.sh [FOLDER]: renders the chart into the kustomize bases below FOLDER (default: config/), so that there is one
# source for both ways to install. hack/generate.sh calls it.
. "$(dirname "$0")/../hack/lib.sh"
use_tools

target=${1:-$ROOT/config}

# show TEMPLATE…: these templates of the chart, without the lines that only Helm needs.
show() {
	local template arguments=()
	for template in "$@"; do arguments+=(--show-only "templates/$template.yaml"); done
	echo '# Rendered from charts/zt-operator by hack/generate.sh. Do not edit.'
	helm template zt-operator "$ROOT/charts/zt-operator" --namespace zt-system --set systemNamespace.create=true \
		-f "$ROOT/charts/zt-operator/ci/example-values.yaml" "${arguments[@]}" |
		sed -e '/^# Source:/d' -e '/helm.sh\/chart:/d' -e 's|managed-by: Helm|managed-by: kustomize|'
}

mkdir -p "$target"/{rbac,manager,samples}
show operator-rbac node-agent-rbac node-agent-admission user-roles >"$target/rbac/rbac.yaml"
show namespaces networkpolicy operator node-agent >"$target/manager/manager.yaml"
show policy >"$target/samples/proxypolicy.yaml"
show profile >"$target/samples/ztprofile.yaml"
