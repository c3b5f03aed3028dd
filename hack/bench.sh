#!/usr/bin/env bash
# bench.sh: measures the VM's steps and reads what the last demo measured, into out/bench/vm.json.
. "$(dirname "$0")/lib.sh"
"$ROOT/hack/deps.sh"
. "$ROOT/hack/vmassets.sh"
cd "$ROOT" && exec go run ./hack/bench "$@"
