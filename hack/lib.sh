# shellcheck shell=bash
# What every script under hack/ shares: where things are, and how progress is shown. Source it, do not run it.
set -euo pipefail
shopt -s inherit_errexit

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=hack/versions.env
. "$ROOT/hack/versions.env"

# CACHE holds what is expensive and can be reused: tools by version, images by the hash of their inputs.
CACHE=${ZT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zt-operator}
# STATE holds what the running cluster owns. hack/cluster/down.sh removes all of it.
# shellcheck disable=SC2034 # read by the scripts that source this file
STATE=${ZT_STATE:-/srv/zt-dev} OUT=$ROOT/out
KUBE_DIR=$CACHE/kube-$KUBE_VERSION

# Constant flags, or no two builds share Go's build cache.
export CGO_ENABLED=0 GOFLAGS=-trimpath
mkdir -p "$CACHE"

say() { printf '%s\n' "$*" >&2; }

die() { say "error: $*"; exit 1; }

# elapsed START prints the seconds since START (an $EPOCHREALTIME value) with one decimal.
elapsed() {
	local us=$((${EPOCHREALTIME/./} - ${1/./}))
	printf '%d.%d' $((us / 1000000)) $((us % 1000000 / 100000))
}

# step MESSAGE COMMAND… runs COMMAND quietly and says how long it took. Its output is shown only if it fails. Never call
# it as a condition (if, &&, ||): bash would then ignore failures inside COMMAND.
step() {
	local message=$1 start=$EPOCHREALTIME log worker beat status=0
	shift
	log=$(mktemp)
	(set -e; "$@") >"$log" 2>&1 </dev/null &
	worker=$!
	heartbeat "$message" "$log" &
	beat=$!
	wait "$worker" || status=$?
	{ kill "$beat" && wait "$beat"; } 2>/dev/null || true
	if [[ $status -ne 0 ]]; then
		say "✗ $message: failed after $(elapsed "$start") s (status $status); its last lines:"
		tail -n 40 "$log" | sed 's/^/    /' >&2
		rm -f "$log"
		return "$status"
	fi
	rm -f "$log"
	say "✓ $message ($(elapsed "$start") s)"
}

# heartbeat MESSAGE LOG tells every half minute that a long step is alive, with the last line it wrote.
heartbeat() {
	local start=$EPOCHREALTIME never
	exec {never}<> <(:)
	# A read that times out instead of sleep(1), so that nothing is left behind when this is killed.
	while ! read -rt 30 -u "$never"; do
		say "… $1: $(elapsed "$start") s; $(tail -n 1 "$2" | tr -cd '[:print:]' | cut -c 1-100)"
	done
}

# until_ok SECONDS WHAT COMMAND… repeats COMMAND until it succeeds.
until_ok() {
	local seconds=$1 what=$2 end
	shift 2
	end=$((SECONDS + seconds))
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || { say "gave up after $seconds s waiting for $what"; return 1; }
		read -rt 0.1 <> <(:) || true
	done
}

# alone NAME SCRIPT [ARGUMENT…] runs the calling script again under a lock of that name: one at a time per machine and user.
# The lock is not inherited by what the script starts.
alone() {
	local lock=$CACHE/$1.lock
	shift
	[[ ${ZT_LOCKED-} != *"$lock"* ]] || return 0
	flock -n "$lock" true || say "… waiting for another ${1##*/} to finish"
	ZT_LOCKED="${ZT_LOCKED-} $lock" exec flock --close "$lock" "$@"
}

# tool_dir NAME VERSION prints the folder that holds a tool built by hack/tools.sh.
tool_dir() { printf '%s/tools/%s-%s' "$CACHE" "$1" "$2"; }

# python_tools_dir prints the folder of uv and pytest, an environment that cannot be moved.
python_tools_dir() { tool_dir python "uv-$UV_VERSION-pytest-$PYTEST_VERSION"; }

# use_tools puts the project's own tools first on PATH.
use_tools() {
	PATH=$KUBE_DIR:$(tool_dir helm "$HELM_VERSION"):$(tool_dir crane "$CRANE_VERSION"):$PATH
	PATH=$(tool_dir golangci-lint "$GOLANGCI_LINT_VERSION"):$(tool_dir kube-router "$KUBE_ROUTER_VERSION"):$PATH
	export PATH
}

# hash_of PATH… prints one digest over the names, modes and bytes of files and of everything in folders.
hash_of() {
	find "$@" -type f -printf '%m %p\0' | sort -z | while IFS=' ' read -rd '' mode path; do
		printf '%s %s ' "$mode" "${path##*/}"
		sha256sum <"$path"
	done | sha256sum | cut -d ' ' -f 1
}
