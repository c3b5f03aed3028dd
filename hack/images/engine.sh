# shellcheck shell=bash
# The container engine that builds images. buildah by preference: it needs no daemon and works without user namespaces.

# engine prints the first engine that really answers; a client without its daemon does not.
engine() {
	local name
	for name in ${CONTAINER_ENGINE:-buildah podman docker}; do
		if "$name" info >/dev/null 2>&1; then
			echo "$name"
			return
		fi
	done
	die "no container engine answers (tried ${CONTAINER_ENGINE:-buildah, podman, docker}); install buildah"
}

# own_storage re-runs the calling script in a mount namespace in which buildah's storage lies in the cache, so that
# neither layers nor mounts are left elsewhere on the machine.
own_storage() {
	[[ $(engine) == buildah && -z ${ZT_OWN_STORAGE-} ]] || return 0
	local storage=$CACHE/buildah
	mkdir -p "$storage"/{lib,run,tmp} /var/lib/containers /run/containers
	export ZT_OWN_STORAGE=1 TMPDIR=$storage/tmp
	# shellcheck disable=SC2016 # expanded by the inner shell
	exec unshare --mount --propagation private bash -c '
		mount --bind "$1/lib" /var/lib/containers && mount -t tmpfs tmpfs /run/containers && shift && exec "$@"
	' own-storage "$storage" "$0" "$@"
}

# Every file and every step of an image bears this date, so that the same inputs make the same digest.
IMAGE_EPOCH=${SOURCE_DATE_EPOCH:-1767225600}

# build_image CONTEXT TAG [ARGUMENT…] builds CONTEXT/Dockerfile.
build_image() {
	local context=$1 tag=$2
	shift 2
	# Tools that write dates into files, such as useradd, go by this variable; an argument that nobody takes is a warning.
	! grep -q '^ARG SOURCE_DATE_EPOCH' "$context/Dockerfile" || set -- --build-arg "SOURCE_DATE_EPOCH=$IMAGE_EPOCH" "$@"
	case $(engine) in
	buildah) buildah bud --isolation chroot --network host --pull-never --layers --timestamp "$IMAGE_EPOCH" -t "$tag" "$@" "$context" ;;
	podman) podman build --network host --pull=never --timestamp "$IMAGE_EPOCH" -t "$tag" "$@" "$context" ;;
	docker) SOURCE_DATE_EPOCH=$IMAGE_EPOCH DOCKER_BUILDKIT=1 docker build --network host -t "$tag" "$@" "$context" ;;
	esac
}

# mounts_supported: docker's build has no --volume; there the machine's apt settings are the daemon's business.
mounts_supported() { [[ $(engine) != docker ]]; }

# export_image TAG DIR writes the image as an OCI layout.
export_image() {
	mkdir -p "$2"
	case $(engine) in
	docker) docker save "$1" | tar -x -C "$2" ;; # an OCI layout since Docker 25
	*) "$(engine)" push "$1" "oci:$2:latest" ;;
	esac
}

# image_id TAG prints the digest of the image's configuration, or nothing when there is no such image.
image_id() {
	case $(engine) in
	buildah) buildah images --no-trunc --quiet "$1" 2>/dev/null || true ;;
	*) "$(engine)" image inspect --format '{{.Id}}' "$1" 2>/dev/null || true ;;
	esac
}

# pull_image REF [SECONDS]
pull_image() { timeout "${2:-600}" "$(engine)" pull "$1"; }
