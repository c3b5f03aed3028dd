#!/usr/bin/env bash
# verify.sh [generated|format|links|vet|lint…]: fails on stale generated files, formatting, links that lead nowhere and lint. Runs
# every check, then fails.
. "$(dirname "$0")/lib.sh"
use_tools

generated() {
	local fresh
	fresh=$(mktemp -d)
	"$ROOT/hack/generate.sh" "$fresh"
	if ! (cd "$fresh" && find . -type f -print0) | (cd "$ROOT" && same_files "$fresh"); then
		rm -rf "$fresh"
		say "generated files are stale; run: make generate"
		return 1
	fi
	rm -rf "$fresh"
}

# same_files FOLDER compares the files named on stdin in FOLDER and here.
same_files() {
	local file status=0
	while IFS= read -rd '' file; do diff -u "$file" "$1/$file" || status=1; done
	return $status
}

format() {
	local unformatted
	unformatted=$(git -C "$ROOT" ls-files -z '*.go' | (cd "$ROOT" && xargs -0 gofmt -l))
	[[ -z $unformatted ]] || { say "not formatted (gofmt -w): $unformatted"; return 1; }
}

lint() {
	local status=0
	go_lint || status=1
	shell_lint || status=1
	return $status
}

# Every build tag at once, so that the tests of all suites are looked at.
go_lint() {
	"$ROOT/hack/tools.sh" golangci-lint
	cd "$ROOT" && golangci-lint run --build-tags "$(suite_tags)" ./...
}

suite_tags() { echo envtest,vm,proxy,cluster,images,bench; }

shell_lint() { git -C "$ROOT" ls-files -z '*.sh' .ci/run | (cd "$ROOT" && xargs -0 shellcheck); }

# links: what the pages say is in a file, is there.
links() { git -C "$ROOT" ls-files -z '*.md' | (cd "$ROOT" && xargs -0 go run ./hack/doccheck); }

vet() { cd "$ROOT" && go vet -tags "$(suite_tags)" ./...; }

[[ $# -gt 0 ]] || set -- generated format links vet lint
"$ROOT/hack/deps.sh"
failed=()
for check in "$@"; do
	start=$EPOCHREALTIME
	# A subshell of its own, so that a check cannot end the others. Its errors are seen because it is not a condition.
	set +e
	(set -e; "$check")
	status=$?
	set -e
	if [[ $status -eq 0 ]]; then
		say "✓ verify: $check ($(elapsed "$start") s)"
	else
		failed+=("$check")
		say "✗ verify: $check"
	fi
done
[[ ${#failed[@]} -eq 0 ]] || die "verify failed: ${failed[*]}"
