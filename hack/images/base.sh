# shellcheck shell=bash
# The base image: Debian from a container registry when one is reachable, else made here from Debian's packages.

BASE_TAG=localhost/zt-base:$DEBIAN_SUITE
APT_OPTIONS=$CACHE/buildah/apt.conf

# base_image makes sure that there is a base and prints its tag.
base_image() {
	local wanted=${ZT_BASE_IMAGE-}
	if [[ -z $wanted && -n $(image_id "$BASE_TAG") ]]; then
		echo "$BASE_TAG"
		return
	fi
	if [[ -z $wanted ]] && registry_reachable; then
		wanted=docker.io/library/debian:$DEBIAN_SUITE-slim
	fi
	if [[ -n $wanted ]]; then
		step "pull the base image $wanted" pull_image "$wanted"
		echo "$wanted"
		return
	fi
	step "make the base image from Debian $DEBIAN_SUITE packages" make_base
	echo "$BASE_TAG"
}

# An unauthenticated answer (401) is an answer.
registry_reachable() { [[ $(curl -s -m 5 -o /dev/null -w '%{http_code}' https://registry-1.docker.io/v2/) =~ ^(200|401)$ ]]; }

make_base() {
	local context mirror
	mirror=$(debian_mirror)
	context=$(mktemp -d)
	cp "$ROOT/images/base/Dockerfile" "$context/"
	apt_options
	sources http://deb.debian.org >"$context/sources.list"
	# shellcheck disable=SC2016 # $1 is mmdebstrap's
	# The mirror and the apt settings of this machine are for this build only; the image gets Debian's own names.
	mmdebstrap --variant=minbase --mode=root --aptopt="$APT_OPTIONS" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--customize-hook='rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1/etc/resolv.conf" "$1/etc/hostname"' \
		--customize-hook="copy-in $context/sources.list /etc/apt" \
		"$DEBIAN_SUITE" "$context/rootfs.tar" - < <(sources "$mirror")
	build_image "$context" "$BASE_TAG"
	rm -rf "$context"
}

# sources MIRROR prints the suite's package sources.
sources() {
	echo "deb $1/debian $DEBIAN_SUITE main"
	echo "deb $1/debian $DEBIAN_SUITE-updates main"
	echo "deb $1/debian-security $DEBIAN_SUITE-security main"
}

# debian_mirror prints what stands before /debian in the machine's own first package source.
debian_mirror() {
	local uri
	# shellcheck disable=SC2016 # apt's own placeholder
	uri=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m 1 '/debian/\?$' || true)
	uri=${uri%/}
	printf '%s' "${uri:+${uri%/debian}}"
	[[ -n $uri ]] || printf 'http://deb.debian.org'
}

# apt_options writes how this machine's apt reaches its mirror (proxies, certificates, clocks): nothing that a plain
# Debian does not have is kept in an image.
apt_options() {
	mkdir -p "${APT_OPTIONS%/*}"
	apt-config dump | grep -E '^Acquire::(Check-|http::|https::|Retries)' | grep -v '""' >"$APT_OPTIONS" || true
}
