#!/usr/bin/env bash
# repository.sh FIXTURE FOLDER: turns a fixture into a git repository with three commits, tagged base, regression-test and
# fix. Names and dates are fixed, so that every machine gets the same commit ids.
. "$(dirname "$0")/../lib.sh"

fixture=$(cd "$1" && pwd) folder=$2

git_here() { git -C "$folder" -c core.hooksPath=/dev/null -c commit.gpgSign=false -c core.autocrlf=false "$@"; }

# commit NAME MESSAGE: each a minute after the one before.
commit() {
	minute=$((minute + 1))
	export GIT_AUTHOR_DATE="2026-01-05T12:0$minute:00+00:00" GIT_COMMITTER_DATE="2026-01-05T12:0$minute:00+00:00"
	git_here add -A
	git_here commit -q -m "$2"
	git_here tag "$1"
}

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME='ZT demo' GIT_AUTHOR_EMAIL=demo@example.com GIT_COMMITTER_NAME='ZT demo' GIT_COMMITTER_EMAIL=demo@example.com
minute=0
rm -rf "$folder"
mkdir -p "$folder"
cp -R "$fixture/base/." "$folder/"
git_here init -q --initial-branch=main
commit base 'Publish the library'
git_here apply --whitespace=nowarn "$fixture/regression.patch"
commit regression-test 'Add a test for the documented bug'
git_here apply --whitespace=nowarn "$fixture/fix.patch"
commit fix 'Fix the bug'
git_here log --reverse --format='%h %s' >&2
