#!/usr/bin/env bash
# bench.sh: measures the VM's steps and reads what the last demo measured, into out/bench/vm.json.
. "$(dirname "$0")/lib.sh"
"$ROOT/hack/deps.sh"
. "$ROOT/hack/vmassets.sh"
"$ROOT/hack/images/build.sh" nodeagent
cd "$ROOT" && go build -o "$OUT/bin/bench" ./hack/bench
exec "$ROOT/hack/images/inside.sh" nodeagent "$OUT/bin/bench" "$@"
