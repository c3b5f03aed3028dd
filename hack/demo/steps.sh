# shellcheck shell=bash
# How the demo tells what it does: numbered steps, each with its time. Source it after hack/lib.sh.

DEMO=$OUT/demo
TIMINGS=()
# shellcheck disable=SC2034 # read by demo.sh
DEMO_START=$EPOCHREALTIME

# title TEXT…: what comes next, and lines that belong to it.
title() { printf '\n▸ %s\n' "$1" >&2; shift; [[ $# -eq 0 ]] || printf '  %s\n' "$@" >&2; }

# timed NAME WHAT PATHS COMMAND… runs one step of the demo. PATHS, separated by blanks, are what it makes: if none of
# them changed, the step was cached. An empty PATHS marks a step that is done anew each time.
timed() {
	local name=$1 what=$2 paths=$3 start=$EPOCHREALTIME stamp cached=false
	shift 3
	title "$what"
	stamp=$(mktemp)
	"$@" >&2
	# shellcheck disable=SC2086 # a list of paths
	[[ -z $paths ]] || changed_since "$stamp" $paths || cached=true
	rm -f "$stamp"
	TIMINGS+=("$(jq -nc --arg step "$name" --argjson seconds "$(elapsed "$start")" --argjson cached $cached '$ARGS.named')")
	say "  $name: $(elapsed "$start") s$([[ $cached == false ]] || echo ', nothing to do')"
}

# changed_since STAMP PATH…: any of the paths, or of what lies directly in them, is newer.
changed_since() {
	local stamp=$1
	shift
	[[ -n $(find "$@" -maxdepth 1 -newer "$stamp" -print -quit 2>/dev/null) ]]
}

write_timings() {
	mkdir -p "$DEMO"
	printf '%s\n' "${TIMINGS[@]}" | jq -s --argjson total "$(elapsed "$DEMO_START")" '{steps: ., seconds: $total}' >"$DEMO/timings.json"
}
