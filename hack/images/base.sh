# shellcheck shell=bash
# The base image: Debian from a container registry when one is reachable, else made here from Debian's packages.

APT_OPTIONS=$CACHE/buildah/apt.conf

# base_image SUITE makes sure that there is a base of that Debian release and prints its tag. ZT_BASE_IMAGE names another
# one for the release that most images are made from.
base_image() {
	local suite=$1 tag=localhost/zt-base:$1 wanted=''
	[[ $suite != "$DEBIAN_SUITE" ]] || wanted=${ZT_BASE_IMAGE-}
	if [[ -z $wanted && -n $(image_id "$tag") ]]; then
		echo "$tag"
		return
	fi
	if [[ -z $wanted ]] && registry_reachable; then
		wanted=docker.io/library/debian:$suite-slim
	fi
	if [[ -n $wanted ]]; then
		step "pull the base image $wanted" pull_image "$wanted"
		echo "$wanted"
		return
	fi
	step "make the base image from Debian $suite packages" make_base "$suite" "$tag"
	echo "$tag"
}

# An unauthenticated answer (401) is an answer.
registry_reachable() { [[ $(curl -s -m 5 -o /dev/null -w '%{http_code}' https://registry-1.docker.io/v2/) =~ ^(200|401)$ ]]; }

# make_base SUITE TAG
make_base() {
	local suite=$1 tag=$2 context mirror
	mirror=$(debian_mirror)
	context=$(mktemp -d)
	cp "$ROOT/images/base/Dockerfile" "$context/"
	apt_options
	sources "$suite" http://deb.debian.org >"$context/sources.list"
	# shellcheck disable=SC2016 # $1 is mmdebstrap's
	# The mirror and the apt settings of this machine are for this build only; the image gets Debian's own names.
	mmdebstrap --variant=minbase --mode=root --aptopt="$APT_OPTIONS" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--customize-hook='rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1/etc/resolv.conf" "$1/etc/hostname"' \
		--customize-hook="copy-in $context/sources.list /etc/apt" \
		"$suite" "$context/rootfs.tar" - < <(sources "$suite" "$mirror")
	build_image "$context" "$tag"
	rm -rf "$context"
}

# sources SUITE MIRROR prints the suite's package sources.
sources() {
	echo "deb $2/debian $1 main"
	echo "deb $2/debian $1-updates main"
	echo "deb $2/debian-security $1-security main"
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
