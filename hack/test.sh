#!/usr/bin/env bash
# test.sh SUITE…: prepares and runs test suites: verify, unit, fixtures, envtest, vm, proxy, cluster. Runs all of them, shows
# go test's own summary lines, and fails if anything failed. ZT_TEST_RUN narrows vm and cluster to the tests that match it.
# A suite with an & before it (&vm) runs beside those after it, up to the next / (or the end): emulated VMs use one CPU of several.
. "$(dirname "$0")/lib.sh"
use_tools

# go_test TAG ARGUMENT… runs go test; the log of a failing package is shown whole, of others only what was skipped.
go_test() {
	local tag=$1
	shift
	cd "$ROOT"
	mkdir -p "$OUT/test"
	go test -v -tags "$tag" "$@" | tee "$OUT/test/${tag:-unit}.log" | summary
}

# summary keeps one package's lines back until its verdict, and never shows which tests passed.
summary() {
	awk '
		{ held[n++] = $0 }
		/^\?.*no test files/ { n = 0 }
		/^(ok|FAIL)[ \t]/ {
			for (i = 0; i < n - 1; i++) if (($1 == "FAIL" && held[i] !~ /^(=== |PASS|FAIL| *--- PASS)/) || held[i] ~ /--- SKIP/) print held[i]
			print
			n = 0
		}
		END { for (i = 0; i < n; i++) if (held[i] !~ /^(FAIL|PASS)$/) print held[i] }
	'
}

# packages_of SUITE prints the packages of a suite: those under test/SUITE and those whose tests carry its build tag. None
# is a failure: a suite never passes by absence.
packages_of() {
	local packages
	packages=$(cd "$ROOT" && {
		git grep -lE "^//go:build (.*[^a-z])?$1([^a-z]|\$)" -- '*_test.go' || true
		git ls-files "test/$1/*_test.go"
	} | xargs -r dirname | sort -u | sed 's|^|./|')
	[[ -n $packages ]] || die "there is no test of the suite $1"
	echo "$packages"
}

# tagged SUITE ARGUMENT… runs a suite, one package after the other: they share the machine.
tagged() {
	local tag=$1 packages
	shift
	packages=$(packages_of "$tag")
	# shellcheck disable=SC2086 # one word per package
	go_test "$tag" -p 1 -count 1 ${ZT_TEST_RUN:+-run "$ZT_TEST_RUN"} "$@" $packages
}

verify() { "$ROOT/hack/verify.sh"; }

# unit: everything but the suites that need more than Go. The chart's tests render it with Helm; detection, plans and
# forgeries are compared with what the real package managers and runners do.
unit() {
	local packages
	"$ROOT/hack/tools.sh" helm python-tools
	PATH=$(python_tools_dir)/bin:$PATH
	packages=$(cd "$ROOT" && go list ./... | grep -vE '/test/(envtest|vm|proxy|cluster)$')
	# shellcheck disable=SC2086 # one word per package
	go_test '' $packages
}

# fixtures: each proves itself on this machine, with the real registries and no sandbox.
fixtures() {
	local check pids=() pid failed=0
	"$ROOT/hack/tools.sh" python-tools
	PATH=$(python_tools_dir)/bin:$PATH
	for check in "$ROOT"/fixtures/ecosystem/*/check.sh; do
		"$check" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
	return $failed
}

envtest() {
	"$ROOT/hack/tools.sh" kubernetes
	export KUBEBUILDER_ASSETS=$KUBE_DIR
	tagged envtest -timeout 15m
}

# vm: also bakes the very images that a cluster would get. VMs run under the node agent image's QEMU.
vm() {
	. "$ROOT/hack/vmassets.sh"
	"$ROOT/hack/images/build.sh" nodeagent
	"$ROOT/hack/images/unpack.sh" nodeagent >/dev/null
	[[ -n ${ZT_TEST_RUN-} ]] || ZT_TEST_IMAGES=$CACHE/images go_test images -count 1 -run '^TestTheProjectsImagesBake$' ./nodeagent/image
	tagged vm -timeout 20m -exec "$ROOT/hack/images/inside.sh nodeagent"
}

# proxy: the Squid and the mirrors of the images that a run uses, and the real npm, pip and uv of the worker images.
proxy() {
	"$ROOT/hack/images/build.sh" squid mirror-npm mirror-pypi worker-node-22 worker-python-3.13
	ZT_SQUID_ROOT=$("$ROOT/hack/images/unpack.sh" squid)
	export ZT_SQUID_ROOT
	tagged proxy -timeout 15m
}

# A cluster that was not there before is ended again, whatever the tests said.
cluster() {
	if [[ ${CLUSTER:-dev} != existing ]]; then
		[[ -e $STATE/ready ]] || trap '"$ROOT/hack/cluster/down.sh"' EXIT
		KUBECONFIG=$("$ROOT/hack/cluster/up.sh")
		export KUBECONFIG
		"$ROOT/hack/cluster/check.sh"
	fi
	"$ROOT/hack/images/build.sh"
	"$ROOT/hack/images/push.sh"
	tagged cluster -timeout 30m
}

# run SUITE runs one suite, says how it went, and leaves that in status. Not a function to test with if, && or ||: bash would
# then ignore failures inside the suite.
run() {
	local suite=$1 start=$EPOCHREALTIME
	say "── $suite"
	set +e
	(set -e; "$suite")
	status=$?
	set -e
	say "── $suite: $([[ $status -eq 0 ]] && echo passed || echo FAILED) ($(elapsed "$start") s)"
}

# run_beside SUITE runs one in the background, in a process group of its own, which ends with this script. join shows what
# it said.
run_beside() {
	beside=$1 beside_log=$(mktemp)
	say "── $beside, beside what follows"
	set -m
	(run "$beside"; exit "$status") >"$beside_log" 2>&1 </dev/null &
	beside_job=$!
	set +m
	trap 'kill -- "-$beside_job" 2>/dev/null || true; rm -f "$beside_log"' EXIT
}

join() {
	[[ -n $beside ]] || return 0
	wait "$beside_job" || failed+=("$beside")
	cat "$beside_log"
	trap - EXIT
	rm -f "$beside_log"
	beside=
}

"$ROOT/hack/deps.sh"
failed=() status=0 beside=''
for word in "$@"; do
	case $word in
	/) join ;;
	'&'*) join; run_beside "${word#&}" ;;
	*)
		run "$word"
		[[ $status -eq 0 ]] || failed+=("$word")
		;;
	esac
done
join
[[ ${#failed[@]} -eq 0 ]] || die "failed: ${failed[*]}"
say "✓ all passed: $*"
