#!/usr/bin/env bash
# Measures a bench target other than kernels, the base branch and the change in turn, several times; then
# says which cases regressed over all runs.
set -euo pipefail
source "$(dirname "$0")/measure.sh"
source "$(dirname "$0")/base.sh"

mkdir -p reports
commit=$(base_commit) || commit=
if [[ -z $commit ]]; then
    why=$(why_no_base)
    echo "::warning::not compared: $why"
    code=0
    cargo xtask bench --bench "$TARGET" || code=$?
    cargo criterion-report export markdown >reports/summary.md || echo "::warning::no report"
    verdict "not compared: $why$([[ $code == 0 ]] || echo "; measuring ended with exit code $code")"
    exit "$code"
fi

code=0
cargo xtask compare-branches "$commit" . --bench "$TARGET" --runs "$RUNS" --fail-on regression || code=$?
sides=("${commit:0:12}" working-tree)
# A pull request that mends a base which cannot be built has to be able to pass.
if [[ $code == 101 ]] && cargo bench --bench "$TARGET" --no-run; then
    verdict "not compared: the base, ${commit:0:8}, cannot be built"
    echo "::warning::not compared: the base, ${commit:0:8}, cannot be built"
    exit 0
fi
if [[ $code != 0 && $code != 1 ]]; then
    verdict "could not be compared with ${commit:0:8}: exit code $code"
    echo "::error::$TARGET could not be compared with ${commit:0:8}: exit code $code"
    exit "$code"
fi
cargo criterion-report compare "${sides[@]}" --format json >reports/comparison.json
cargo criterion-report compare "${sides[@]}" --format markdown >reports/regressions.md
jq '{regressions: [.cases[] | select(.verdict == "regressed") | {full_id, kind: .reason}]}' \
    reports/comparison.json >reports/regressions.json
cat reports/regressions.md >>"$GITHUB_STEP_SUMMARY"
count=$(jq '.regressions | length' reports/regressions.json)
if [[ $count == 0 ]]; then
    verdict "nothing regressed in $RUNS runs of each side"
else
    verdict "**regressed in $RUNS runs of each side**: $(jq --raw-output '
        .regressions | map("`\(.full_id)` (\(.kind))") | join(", ")' reports/regressions.json)"
fi
exit "$code"
