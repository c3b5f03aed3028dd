#!/bin/sh
# packages.sh PACKAGE…: unpacks Debian packages and what they need to run into packages/, without installing them: an
# installed kernel would want a boot loader and build an initial RAM disk of its own.
set -eu
mkdir -p debs packages
# Only what is linked, not the whole closure: crun's libraries, and the kernel behind the meta package.
wanted=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$@" |
	grep -E '^(linux-image-[0-9]|crun$|libcap2$|libseccomp2$|libsystemd0$|libyajl2$|libc6$)' | sort -u)
# shellcheck disable=SC2086 # one word per package
(cd debs && apt-get -o APT::Sandbox::User=root download -q $wanted)
for deb in debs/*.deb; do dpkg-deb -x "$deb" packages; done
