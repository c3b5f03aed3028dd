#!/bin/sh
# initrd.sh PACKAGES AGENT OUTPUT: packs the initial RAM disk: the guest agent as /init, crun with its libraries, and
# the kernel modules in the order of their loading. The same inputs give the same bytes.
set -eu
packages=$(realpath "$1")
agent=$2
output=$3
root=$(mktemp -d)
kernel=$(ls "$packages/usr/lib/modules")

mkdir -p "$root/usr/bin" "$root/usr/lib/zt" "$root/usr/lib64" "$root/modules/boot" "$root/modules/net" \
	"$root/dev" "$root/proc" "$root/sys" "$root/newroot"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
install -m 0755 "$agent" "$root/usr/lib/zt/guest-agent"
ln -s usr/lib/zt/guest-agent "$root/init"

# copy_program PATH: a program and the libraries that the loader would take from the packages.
copy_program() {
	install -D -m 0755 "$packages$1" "$root$1"
	loader=$packages/usr/lib64/ld-linux-x86-64.so.2
	"$loader" --library-path "$packages/usr/lib/x86_64-linux-gnu" --list "$packages$1" |
		sed -n 's|.* => \(/[^ ]*\) .*|\1|p' |
		grep -v /ld-linux | while read -r library; do
			install -D -m 0755 "$library" "$root/usr/lib/x86_64-linux-gnu/$(basename "$library")"
		done
	install -D -m 0755 "$loader" "$root/usr/lib64/ld-linux-x86-64.so.2"
}
copy_program /usr/bin/crun

# copy_modules STAGE MODULE…: the modules with their dependencies, numbered in the order of loading. What is built into
# the kernel needs no file; a module that the kernel does not have at all fails the build.
copy_modules() {
	stage=$1
	shift
	for module in "$@"; do
		modprobe -d "$packages" -S "$kernel" --show-depends "$module" >"$depends"
		# shellcheck disable=SC2013 # paths without blanks; a pipe would lose the count
		for file in $(sed -n 's/^insmod \([^ ]*\).*/\1/p' "$depends"); do
			name=$(basename "${file%%.ko*}")
			[ -z "$(find "$root/modules" -name "*-$name.ko")" ] || continue
			xz -dc "$file" >"$root/modules/$stage/$number-$name.ko"
			# The kernel would check the type information and the signature of each, which takes an emulated CPU
			# longer than to load them. The image's digest vouches for their bytes.
			objcopy --strip-debug --remove-section=.BTF "$root/modules/$stage/$number-$name.ko"
			number=$((number + 1))
		done
	done
}
depends=$(mktemp)
number=10
ln -sfn usr/lib "$packages/lib"
depmod -b "$packages" "$kernel"
copy_modules boot virtio_pci virtio_console virtio_blk erofs overlay virtio-rng crc32c-intel
copy_modules net virtio_net

find "$root" -exec touch -h -d @0 {} +
(cd "$root" && find . -mindepth 1 | LC_ALL=C sort | cpio --quiet -o -H newc --reproducible --owner=0:0) >"$output"
rm -rf "$root" "$depends"
