#!/usr/bin/env bash
# push.sh [NAME…]: pushes built images (without names: all) to the development cluster's registry, or to $REGISTRY, and
# writes their references by digest to images.env in the cache: OPERATOR=registry/operator@sha256:…
. "$(dirname "$0")/../lib.sh"
. "$ROOT/hack/cluster/env.sh"
. "$ROOT/hack/images/names.sh"
use_tools

REFERENCES=$CACHE/images.env

# push NAME: by digest, so nothing is sent when the registry has it; the tag only keeps the registry from collecting it.
push() {
	local name=$1 digest
	digest=$(cat "$CACHE/images/$name.digest")
	crane manifest "$(image_ref "$name")" >/dev/null 2>&1 && return
	crane push "$CACHE/images/$name" "${REGISTRY:-$(cluster_registry)}/$name:${digest:7:12}"
}

push_all() {
	local name pids=() pid
	for name in "$@"; do
		push "$name" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid"; done
}

# variable NAME: worker-python-3.13 → WORKER_PYTHON_3_13
variable() { tr 'a-z.-' 'A-Z__' <<<"$1"; }

write_references() {
	local name
	for name in "$@"; do echo "$(variable "$name")=$(image_ref "$name")"; done >"$REFERENCES"
}

if [[ $# -eq 0 ]]; then
	mapfile -t names < <(all_images)
	set -- "${names[@]}"
fi
"$ROOT/hack/tools.sh" crane
step "push to ${REGISTRY:-$(cluster_registry)}: $*" push_all "$@"
write_references "$@"
echo "$REFERENCES"
