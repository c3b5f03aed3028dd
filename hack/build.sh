#!/usr/bin/env bash
# build.sh [NAME…]: builds the project's own commands (cmd/*) as static binaries into out/bin. Without names: all.
. "$(dirname "$0")/lib.sh"

build() {
	local name packages=()
	for name in "$@"; do packages+=("./cmd/$name"); done
	mkdir -p "$OUT/bin"
	# No VCS stamp: the same sources give the same bytes, and so the same image digest, at every commit.
	cd "$ROOT" && go build -buildvcs=false -ldflags '-s -w' -o "$OUT/bin/" "${packages[@]}"
}

if [[ $# -eq 0 ]]; then
	mapfile -t names < <(find "$ROOT/cmd" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
	set -- "${names[@]}"
fi
step "build $*" build "$@"
