#!/usr/bin/env bash
# deps.sh: installs the Debian packages that are missing, and only those.
. "$(dirname "$0")/lib.sh"

# Each line: a file that proves the package is there, and the package.
needed() {
	cat <<-'LIST'
		/usr/bin/containerd containerd
		/usr/sbin/runc runc
		/usr/lib/cni/bridge containernetworking-plugins
		/usr/bin/mmdebstrap mmdebstrap
		/usr/share/keyrings/debian-archive-trixie-stable.gpg debian-archive-keyring
		/usr/bin/mkfs.erofs erofs-utils
		/usr/bin/qemu-system-x86_64 qemu-system-x86
		/usr/bin/qemu-img qemu-utils
		/usr/share/qemu/qboot.rom qemu-system-data
		/usr/sbin/mke2fs e2fsprogs
		/usr/sbin/squid squid-openssl
		/usr/sbin/nft nftables
		/usr/sbin/iptables iptables
		/usr/sbin/ipset ipset
		/usr/sbin/conntrack conntrack
		/usr/bin/crun crun
		/usr/bin/cpio cpio
		/usr/bin/zstd zstd
		/usr/bin/jq jq
		/usr/bin/git git
		/usr/bin/openssl openssl
		/usr/bin/shellcheck shellcheck
		/usr/sbin/ip iproute2
		/usr/sbin/sysctl procps
		/etc/ssl/certs/ca-certificates.crt ca-certificates
	LIST
	python3 -c 'import ensurepip, venv' 2>/dev/null || echo /usr/lib/python3-venv-is-missing python3-venv
	engine_answers || echo /usr/bin/buildah buildah
}

engine_answers() { podman info || docker info; } >/dev/null 2>&1

# Debian 12 may have merged /usr: a file counts wherever its base name is found.
present() { [[ -e $1 || -e ${1/#\/usr\/sbin/\/sbin} ]] || command -v "${1##*/}" >/dev/null; }

missing() {
	local file package
	needed | while read -r file package; do
		present "$file" || echo "$package"
	done | sort -u
}

# Services that a package would start (squid, containerd) are not wanted on the machine itself.
forbid_services() {
	local policy=/usr/sbin/policy-rc.d
	[[ ! -e $policy ]] || return 0
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

install() {
	export DEBIAN_FRONTEND=noninteractive
	forbid_services
	apt-get update -q
	apt-get install -qy --no-install-recommends "$@"
}

mapfile -t packages < <(missing)
[[ ${#packages[@]} -gt 0 ]] || exit 0
[[ $EUID -eq 0 ]] || die "these Debian packages are missing and only root can install them: ${packages[*]}"
step "install Debian packages: ${packages[*]}" install "${packages[@]}"
