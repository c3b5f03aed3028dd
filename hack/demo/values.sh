#!/usr/bin/env bash
# values.sh: prints the chart's values for the images that hack/images/push.sh pushed. ZT_RUNTIMES names the worker
# runtimes of the profile (default: all that are not built on demand): each is one more image to pull and bake on every node.
. "$(dirname "$0")/../lib.sh"
. "$ROOT/hack/images/names.sh"

# pinned IMAGE NAME: what the build of an image is given as NAME, by its arguments or its Dockerfile.
pinned() {
	{ args_of "$1"; sed -n 's/^ARG //p' "$(folder_of "$1")/Dockerfile"; } | sed -n "s/^$2=//p" | head -n 1
}

# required PACKAGE: the version that the Python images' requirements pin.
required() { sed -n "s/^$1==\([^ ]*\) .*/\1/p" "$ROOT/images/worker-python/requirements.txt"; }

# reference NAME: worker-node-22 → the value of WORKER_NODE_22
reference() {
	local variable
	variable=$(tr 'a-z.-' 'A-Z__' <<<"$1")
	[[ -n ${!variable-} ]] || die "$1 is not among the pushed images: run hack/images/push.sh"
	echo "${!variable}"
}

# runtime NAME LANGUAGE VERSION MANAGERS
runtime() {
	printf '    - name: %s\n      language: %s\n      version: %s\n      image: %s\n      managers: [%s]\n' \
		"$1" "$2" "$3" "$(reference "worker-$1")" "$4"
}

runtimes() {
	local name image
	for name in ${ZT_RUNTIMES:-node-22 node-20 python-3.13 python-3.11}; do
		image=worker-$name
		# Not only for its output: inside a printf's argument a failure would go unseen.
		reference "$image" >/dev/null
		case $name in
		node-*) runtime "$name" node "$(pinned "$image" NODE_VERSION)" "{name: npm, version: $(pinned "$image" NPM_VERSION)}" ;;
		python-*) runtime "$name" python "$(pinned "$image" PYTHON_VERSION)" \
			"{name: pip, version: \"$(required pip)\"}, {name: uv, version: $(required uv)}" ;;
		*) die "ZT_RUNTIMES names $name, which is neither node-… nor python-…" ;;
		esac
	done
}

# parallel_trees: all at once, for the fastest verdict, where this machine is the node and has room for three VMs of 2 GiB
# beside everything else. ZT_PARALLEL_TREES says it for a cluster whose nodes are not known here.
parallel_trees() {
	local room=1
	[[ ${CLUSTER-} == existing || $(awk '/^MemTotal:/ {print $2}' /proc/meminfo) -lt 12000000 ]] || room=3
	echo "${ZT_PARALLEL_TREES:-$room}"
}

# shellcheck source=/dev/null # written by hack/images/push.sh
. "$CACHE/images.env"
for name in operator nodeagent holder guest squid mirror-npm mirror-pypi; do reference "$name" >/dev/null; done
RUNTIMES=$(runtimes)
# A VM asks the scheduler for less than its two CPUs: on a machine of two, the rest of the cluster needs some.
cat <<YAML
images:
  operator: $(reference operator)
  nodeAgent: $(reference nodeagent)
  holder: $(reference holder)
profile:
  parallelTrees: $(parallel_trees)
  vm: {cpus: 2, cpuRequest: 400m, memoryMiB: 2048, diskMiB: 4096, accelerator: Auto}
  guest:
    image: $(reference guest)
  runtimes:
$RUNTIMES
  proxy:
    squid:
      image: $(reference squid)
    mirrors:
      - ecosystem: npm
        image: $(reference mirror-npm)
      - ecosystem: pip
        image: $(reference mirror-pypi)
      - ecosystem: uv
        image: $(reference mirror-pypi)
YAML
