#!/usr/bin/env bash
# build.sh [NAME…]: builds images/NAME (without names: all) into OCI layouts in the cache. What did not change is not built.
. "$(dirname "$0")/../lib.sh"
. "$ROOT/hack/images/engine.sh"
. "$ROOT/hack/images/base.sh"
. "$ROOT/hack/images/names.sh"

IMAGES=$CACHE/images
CA_BUNDLE=${ZT_CA_BUNDLE:-/etc/ssl/certs/ca-certificates.crt}

# binaries_of FOLDER prints the names of the binaries that its Dockerfile copies from bin/.
binaries_of() { sed -n 's/^COPY.* bin\/\([a-z-]*\) .*/\1/p' "$1/Dockerfile" | sort -u; }

binary_path() {
	case $1 in
	coredns) echo "$(tool_dir coredns "$COREDNS_VERSION")/coredns" ;;
	*) echo "$OUT/bin/$1" ;;
	esac
}

# build_binaries NAME… builds what these images copy.
build_binaries() {
	local name binary commands=()
	for name in "$@"; do
		for binary in $(binaries_of "$(folder_of "$name")"); do
			case $binary in
			coredns) "$ROOT/hack/tools.sh" coredns ;;
			pause) step "build pause" go_build ./hack/cluster/pause ;;
			*) commands+=("$binary") ;;
			esac
		done
	done
	[[ ${#commands[@]} -eq 0 ]] || "$ROOT/hack/build.sh" "${commands[@]}"
}

go_build() { mkdir -p "$OUT/bin" && cd "$ROOT" && go build -buildvcs=false -ldflags '-s -w' -o "$OUT/bin/" "$1"; }

needs_base() { grep -q '^ARG BASE' "$(folder_of "$1")/Dockerfile"; }

# input_hash NAME BASE_ID
input_hash() {
	local binary inputs
	mapfile -t inputs < <(inputs_of "$1")
	for binary in $(binaries_of "$(folder_of "$1")"); do inputs+=("$(binary_path "$binary")"); done
	{ hash_of "${inputs[@]}"; echo "$2"; } | sha256sum | cut -d ' ' -f 1
}

# build_one NAME HASH BASE builds the image beside its final place and moves it there.
build_one() {
	local name=$1 hash=$2 base=$3 folder context binary argument arguments=()
	folder=$(folder_of "$name")
	context=$(mktemp -d)
	# The image's own files both at the root and under the repository's path: a Dockerfile may name either.
	mkdir -p "$context/bin" "$context/images"
	cp -a "$folder/." "$context/"
	cp -a "$folder" "$context/images/"
	for binary in $(binaries_of "$folder"); do cp "$(binary_path "$binary")" "$context/bin/"; done
	! needs_base "$name" || arguments+=(--build-arg "BASE=$base")
	for argument in $(args_of "$name"); do
		! grep -q "^ARG ${argument%%=*}\\>" "$folder/Dockerfile" || arguments+=(--build-arg "$argument")
	done
	! grep -q 'type=secret,id=ca' "$folder/Dockerfile" || arguments+=(--secret "id=ca,src=$CA_BUNDLE")
	! mounts_supported || arguments+=(--volume "$APT_OPTIONS:/etc/apt/apt.conf.d/99build:ro")
	build_image "$context" "localhost/zt/$name:latest" "${arguments[@]}"
	rm -rf "$context" "$IMAGES/$name.part"
	export_image "localhost/zt/$name:latest" "$IMAGES/$name.part"
	rm -rf "${IMAGES:?}/$name"
	mv "$IMAGES/$name.part" "$IMAGES/$name"
	jq -er '.manifests[0].digest' "$IMAGES/$name/index.json" >"$IMAGES/$name.digest"
	echo "$hash" >"$IMAGES/$name.inputs"
}

# build_images NAME… two at a time: one mostly downloads while the other mostly compresses.
build_images() {
	local name base base_id hash failed=0 running=0
	local -A bases=()
	for name in "$@"; do
		base='' base_id=''
		if needs_base "$name"; then
			base=${bases[$(suite_of "$name")]-}
			[[ -n $base ]] || base=$(base_image "$(suite_of "$name")")
			bases[$(suite_of "$name")]=$base
			base_id=$(image_id "$base")
		fi
		hash=$(input_hash "$name" "$base_id")
		[[ $(cat "$IMAGES/$name.inputs" 2>/dev/null) != "$hash" ]] || continue
		step "build image $name" build_one "$name" "$hash" "$base" &
		running=$((running + 1))
		[[ $running -lt 2 ]] || { wait -n || failed=1; running=$((running - 1)); }
	done
	while [[ $running -gt 0 ]]; do
		wait -n || failed=1
		running=$((running - 1))
	done
	return $failed
}

alone images "$0" "$@"
own_storage "$@"
mkdir -p "$IMAGES"
apt_options
if [[ $# -eq 0 ]]; then
	mapfile -t names < <(all_images)
	set -- "${names[@]}"
fi
build_binaries "$@"
start=$EPOCHREALTIME
build_images "$@"
say "✓ images: $* ($(elapsed "$start") s)"
