#!/usr/bin/env bash
# proof.sh: proves the acceptance criteria in VMs and on a cluster, and writes to out/proof, for each, what was submitted,
# what was expected and what was seen. Fails on one difference, and if a proof is missing.
. "$(dirname "$0")/lib.sh"

export ZT_PROOF_DIR=$OUT/proof ZT_TEST_RUN='^TestProof'
PROOFS=(ac1-{npm,pip,uv} ac1-flipped-{npm,pip,uv} ac3 ac4)

# held NAME shows a proof's result in a line. A proof that did not run wrote nothing.
held() {
	local file=$ZT_PROOF_DIR/$1.json
	[[ -e $file ]] || { say "✗ $1: it did not run"; return 1; }
	jq -r '(.rows | length) as $rows | "\(if .held then "✓" else "✗" end) \($ARGS.named.name) (\(.criterion)): \($rows) row\(if $rows == 1 then "" else "s" end), \(.seconds | floor) s" +
		([.rows[] | .name as $row | .differences[]? | "\n    \($row): \(.)"] | add // "")' --arg name "$1" "$file"
	jq -e .held "$file" >/dev/null
}

rm -rf "$ZT_PROOF_DIR"
status=0
"$ROOT/hack/test.sh" vm cluster || status=1
for name in "${PROOFS[@]}"; do held "$name" || status=1; done
say "records: $ZT_PROOF_DIR"
exit "$status"
