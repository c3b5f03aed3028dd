# shellcheck shell=bash
# Which images there are. images/NAME/Dockerfile is one image. A file VERSION.args beside the Dockerfile makes the folder a
# family: one image NAME-VERSION for each such file, whose lines NAME=VALUE are the build's arguments. SUITE=… among them
# names the Debian release of the base image. A line "# Built on demand" leaves the image out unless ZT_RUNTIMES asks for it.

# all_images prints every name but, when ZT_RUNTIMES lists worker runtimes, those of other runtimes: a cluster that does
# not offer them needs no images of them. When it lists none, those that are built on demand are left out.
all_images() {
	local folder args
	for folder in "$ROOT"/images/*/; do
		folder=${folder%/}
		[[ -f $folder/Dockerfile && ${folder##*/} != base ]] || continue
		if ! compgen -G "$folder/*.args" >/dev/null; then
			echo "${folder##*/}"
			continue
		fi
		for args in "$folder"/*.args; do
			[[ -n ${ZT_RUNTIMES-} ]] || ! grep -q '^# Built on demand' "$args" || continue
			basename "$folder-${args##*/}" .args
		done
	done | offered | sort
}

# offered filters names read from its standard input.
offered() {
	local name
	while read -r name; do
		[[ -n ${ZT_RUNTIMES-} && $name == worker-* && " $ZT_RUNTIMES " != *" ${name#worker-} "* ]] || echo "$name"
	done
}

# folder_of NAME: the cluster's own images lie with the cluster.
folder_of() {
	local folder
	for folder in "$ROOT/images/$1" "$ROOT/hack/cluster/images/$1"; do
		[[ ! -f $folder/Dockerfile ]] || { echo "$folder"; return; }
	done
	[[ -f $ROOT/images/${1%-*}/${1##*-}.args ]] || die "there is no image $1: neither images/$1/Dockerfile nor images/${1%-*}/${1##*-}.args exists"
	echo "$ROOT/images/${1%-*}"
}

# args_of NAME prints the build's arguments of an image of a family, one a line.
args_of() {
	local file=$ROOT/images/${1%-*}/${1##*-}.args
	[[ ! -f $file ]] || grep -v '^#' "$file"
}

# inputs_of NAME prints the files that an image is made from: all of its folder, but not its siblings' arguments.
inputs_of() { find "$(folder_of "$1")" -type f \( ! -name '*.args' -o -name "${1##*-}.args" \); }

# suite_of NAME prints the Debian release of an image's base.
suite_of() { args_of "$1" | sed -n 's/^SUITE=//p' | grep . || echo "$DEBIAN_SUITE"; }
