#!/bin/sh
# extract-kernel.sh VMLINUZ VMLINUX: unpacks the kernel's zstd payload. QEMU starts the plain ELF through its PVH note,
# without the decompressor in the guest.
set -eu
magic=$(printf '\050\265\057\375')
# shellcheck disable=SC2013 # numbers
for offset in $(LC_ALL=C grep -obUaF "$magic" "$1" | cut -d : -f 1); do
	# What follows the frame is no zstd, which zstd reports after it has written the payload.
	tail -c "+$((offset + 1))" "$1" | zstd -dcq >"$2" 2>/dev/null || true
	if [ "$(head -c 4 "$2" | tail -c 3)" = ELF ]; then
		exit 0
	fi
done
echo "$1 has no zstd payload that is a kernel" >&2
exit 1
