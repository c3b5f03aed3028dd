#!/usr/bin/env bash
# bench.sh [WHAT…]: measures and writes out/bench/WHAT.json. WHAT: vm (a VM's steps), lock (reading large lockfiles), proxy
# (Squid and npm mirror), proof (whole runs on the cluster); without arguments all of them. "table" measures nothing: it
# writes the figures of out/bench/ into docs/benchmarks.md.
. "$(dirname "$0")/lib.sh"
use_tools

BENCH=$OUT/bench

# program NAME builds a benchmark's program.
program() { cd "$ROOT" && go build -buildvcs=false -o "$OUT/bin/bench-$1" "./hack/bench/$1"; }

vm() {
	. "$ROOT/hack/vmassets.sh"
	"$ROOT/hack/images/build.sh" nodeagent
	program vm
	"$ROOT/hack/images/inside.sh" nodeagent "$OUT/bin/bench-vm"
}

lock() {
	program lock
	cd "$ROOT"
	go test -run '^$' -bench '^BenchmarkLargeLockfiles$' -benchmem -benchtime 0.5s -count 5 ./internal/lockindex |
		"$OUT/bin/bench-lock"
}

# proxy: a test of the proxy suite's package, because it needs that suite's namespaces and processes.
proxy() {
	[[ $EUID -eq 0 ]] || die "measuring the proxy makes network namespaces and needs root: sudo make bench"
	"$ROOT/hack/images/build.sh" squid mirror-npm
	"$ROOT/hack/images/unpack.sh" mirror-npm >/dev/null
	ZT_SQUID_ROOT=$("$ROOT/hack/images/unpack.sh" squid)
	export ZT_SQUID_ROOT ZT_PROXY_REAL=required ZT_BENCH_OUT=$BENCH/proxy.json
	cd "$ROOT"
	go test -tags proxy,bench -count 1 -timeout 15m -run '^TestMeasureTheProxy$' ./test/proxy
	say "written to ${ZT_BENCH_OUT#"$ROOT"/}"
}

# proof: on the development cluster, or with CLUSTER=existing on that of the current kubeconfig.
proof() {
	if [[ ${CLUSTER:-dev} != existing ]]; then
		[[ -e $STATE/ready ]] || die "measuring proofs needs a cluster with the chart installed: make demo starts one"
		. "$ROOT/hack/cluster/env.sh"
		export KUBECONFIG=$KUBECONFIG_FILE
	fi
	local ecosystem
	for ecosystem in npm pip uv; do
		"$ROOT/hack/demo/repository.sh" "$ROOT/fixtures/ecosystem/$ecosystem" "$BENCH/repositories/$ecosystem" 2>/dev/null
	done
	program proof
	cd "$ROOT" && "$OUT/bin/bench-proof"
}

table() {
	program table
	cd "$ROOT" && "$OUT/bin/bench-table"
}

[[ $# -gt 0 ]] || set -- vm lock proxy proof
for what in "$@"; do
	[[ $what =~ ^(vm|lock|proxy|proof|table)$ ]] || die "there is no benchmark $what; there are vm, lock, proxy, proof, and table"
done
"$ROOT/hack/deps.sh"
mkdir -p "$BENCH"
ZT_BENCH_COMMIT=$(git -C "$ROOT" describe --always --dirty --exclude '*' 2>/dev/null || true)
export ZT_BENCH_COMMIT
failed=()
for what in "$@"; do
	say "── bench $what"
	start=$EPOCHREALTIME
	# A subshell that is no condition, so that a failure in it is seen and does not end the others.
	set +e
	(set -e; "$what")
	status=$?
	set -e
	[[ $status -eq 0 ]] || failed+=("$what")
	say "── bench $what: $([[ $status -eq 0 ]] && echo measured || echo FAILED) ($(elapsed "$start") s)"
done
[[ ${#failed[@]} -eq 0 ]] || die "not measured: ${failed[*]}"
