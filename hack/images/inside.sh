#!/usr/bin/env bash
# inside.sh NAME PROGRAM [ARGUMENT…]: runs a program of this machine in an unpacked image's root filesystem, with the
# repository, the cache and the machine's own kernel folders in their places. So VM tests use the very QEMU that a node
# agent has; Debian 12's crashes emulated guests now and then.
. "$(dirname "$0")/../lib.sh"

# in_private_mounts ROOT FOLDER PROGRAM…
in_private_mounts() {
	local root=$1 folder=$2 place
	shift 2
	# The root has to be a mount of its own, for programs that make it private or pivot again.
	mount --bind "$root" "$root"
	for place in /proc /sys /dev /tmp "$ROOT" "$CACHE" "${GOCACHE:-}" "$folder"; do
		[[ -n $place && -d $place ]] || continue
		mkdir -p "$root$place"
		mountpoint -q "$root$place" || mount --rbind "$place" "$root$place"
	done
	cd "$root"
	pivot_root . .
	umount -l .
	exec /usr/bin/env -C "$folder" "$@"
}

root=$("$ROOT/hack/images/unpack.sh" "$1")
shift
export -f in_private_mounts
export ROOT CACHE
# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --mount --propagation private bash -c 'set -euo pipefail; in_private_mounts "$@"' inside \
	"$root" "$PWD" "$@"
