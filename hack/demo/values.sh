#!/usr/bin/env bash
# values.sh: prints the chart's values for the images that hack/images/push.sh pushed.
. "$(dirname "$0")/../lib.sh"

# recipe NAME: a version that the worker image's Dockerfile pins.
recipe() { sed -n "s/^ARG $1=//p" "$ROOT/images/worker-node-22/Dockerfile" | head -n 1; }

# shellcheck source=/dev/null # written by hack/images/push.sh
. "$CACHE/images.env"
# The VM asks the scheduler for one CPU though it has two: on a machine of two, the rest of the cluster needs the other.
cat <<YAML
images:
  operator: $OPERATOR
  nodeAgent: $NODEAGENT
  holder: $HOLDER
profile:
  vm: {cpus: 2, cpuRequest: "1", memoryMiB: 2048, diskMiB: 4096, accelerator: Auto}
  guest:
    image: $GUEST
  runtimes:
    - name: node-22
      language: node
      version: $(recipe NODE_VERSION)
      image: $WORKER_NODE_22
      managers: [{name: npm, version: $(recipe NPM_VERSION)}]
  proxy:
    squid:
      image: $SQUID
    mirrors:
      - ecosystem: npm
        image: $MIRROR_NPM
YAML
