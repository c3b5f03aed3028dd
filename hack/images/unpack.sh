#!/usr/bin/env bash
# unpack.sh NAME: unpacks a built image's root filesystem into the cache, once per digest, and prints the folder. Tests
# run what is in an image with it, without a container runtime.
. "$(dirname "$0")/../lib.sh"

# layers LAYOUT prints the files of the image's layers, bottom first.
layers() {
	local manifest
	manifest=$(jq -er '.manifests[0].digest' "$1/index.json")
	jq -er '.layers[].digest' "$1/blobs/${manifest/://}" | sed "s|^\(.*\):|$1/blobs/\1/|"
}

# apply LAYER FOLDER: a whiteout (.wh.NAME) removes what lower layers have.
apply() {
	local whiteout
	tar -tf "$1" | { grep -E '(^|/)\.wh\.' || true; } | while IFS= read -r whiteout; do
		[[ ${whiteout##*/} != .wh..wh..opq ]] || { find "$2/${whiteout%/*}" -mindepth 1 -delete 2>/dev/null || true; continue; }
		rm -rf "${2:?}/$(dirname "$whiteout")/${whiteout##*/.wh.}"
	done
	tar -xpf "$1" -C "$2" --numeric-owner --exclude='.wh.*'
}

unpack() {
	local layer
	rm -rf "$folder.part"
	mkdir -p "$folder.part"
	for layer in $(layers "$CACHE/images/$name"); do apply "$layer" "$folder.part"; done
	find "${folder%/*}" -mindepth 1 -maxdepth 1 -name "$name-*" ! -path "$folder.part" -exec rm -rf {} +
	mv "$folder.part" "$folder"
}

alone "unpack-$1" "$0" "$@"
name=$1
digest=$(cat "$CACHE/images/$name.digest")
folder=$CACHE/roots/$name-${digest:7:16}
[[ -d $folder ]] || step "unpack image $name" unpack
echo "$folder"
