#!/usr/bin/env bash
# proxy-check.sh: sends every row of the tables of requests, names, redirects, faults and real registries through the
# Squid of the squid image, and writes out/proxy/verdicts.json. Fails on one difference. Registries that cannot be reached
# are named in the report and in the last line; ZT_PROXY_REAL=required makes them a failure.
. "$(dirname "$0")/lib.sh"
use_tools

tables=TestSquidEnforcesTheTable
tables+='|TestSquidFollowsNoNameInside|TestSquidFollowsNoNameThatIsRebound'
tables+='|TestSquidAndTheEvaluatorAgreeWhereARedirectMayLead'
tables+='|TestEveryFaultOfARegistryHasAReasonInBoundedTime'
tables+='|TestTheRealRegistriesGiveOnlyWhatThePolicyAdmits'

check() {
	local ended=0
	export ZT_PROXY_VERDICTS=$OUT/proxy/verdicts.json
	rm -f "$ZT_PROXY_VERDICTS"
	cd "$ROOT"
	go test -tags proxy -count 1 -timeout 10m -run "^($tables)\$" ./test/proxy || ended=$?
	[[ -s $ZT_PROXY_VERDICTS ]] || die "the tests wrote no $ZT_PROXY_VERDICTS"
	return "$ended"
}

summary() {
	jq -r '"squid \(.squid): \(.verdicts | length) requests, \(.differences) differences" +
		(.verdicts | group_by(.against) | map("\n  \(length) against \(.[0].against)") | add) +
		(if .notReached == [] then "" else "\nNOT REACHED, so not checked: " + (.notReached | join("; ")) end)' "$OUT/proxy/verdicts.json"
}

"$ROOT/hack/deps.sh"
"$ROOT/hack/images/build.sh" squid
ZT_SQUID_ROOT=$("$ROOT/hack/images/unpack.sh" squid)
export ZT_SQUID_ROOT
check && failed=0 || failed=$?
say "$(summary)"
say "verdicts: $OUT/proxy/verdicts.json"
[[ $failed -eq 0 ]] || die "the proxy does not do what its policy says"
