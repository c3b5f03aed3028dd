#!/usr/bin/env bash
# generate.sh [FOLDER]: generates what is generated into FOLDER, laid out as the repository (default: the repository).
. "$(dirname "$0")/lib.sh"

# API types → deep copies and CRDs; the chart carries the same CRDs.
api() {
	cd "$ROOT"
	go tool controller-gen object paths=./api/... output:object:dir="$target/api/v1alpha1"
	go tool controller-gen crd paths=./api/... output:crd:dir="$target/config/crd"
	mkdir -p "$target/charts/zt-operator/crds"
	cp "$target"/config/crd/zt.*.yaml "$target/charts/zt-operator/crds/"
}

# The chart → kustomize bases.
bases() {
	"$ROOT/hack/tools.sh" helm
	"$ROOT/config/render.sh" "$target/config"
}

# The reason catalogue and the API → reference pages.
reference() {
	cd "$ROOT"
	mkdir -p "$target/docs"
	go run ./hack/docgen "$target/docs"
}

target=${1:-$ROOT}
step "generate deep copies and CRDs" api
step "render the kustomize bases" bases
step "generate reference pages" reference
