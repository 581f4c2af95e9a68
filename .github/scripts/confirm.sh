#!/usr/bin/env bash
# Measures once more, on both sides, what regressed. Only what regresses twice is confirmed, stands in
# reports/confirmed.md, and ends with exit code 1.
set -euo pipefail
scripts=$(realpath "$(dirname "$0")")
source "$scripts/measure.sh"

if [[ -n $NOT_COMPARED ]]; then
    echo "not compared: $NOT_COMPARED"
    # Why it is an error is said where it was found.
    [[ -z $BROKEN_BASE ]]
    exit
fi

jq --raw-output '.regressions[] | "\(.full_id) \(.kind)"' reports/regressions.json >"$RUNNER_TEMP/first"
if [[ ! -s $RUNNER_TEMP/first ]]; then
    echo "no regressions"
    failed=$(jq .failed reports/summary.json)
    verdict "nothing regressed$([[ $failed == 0 ]] || echo "; failed cases: $failed")"
    exit 0
fi
echo "regressed, to be measured again:"
cat "$RUNNER_TEMP/first"
only=$(jq --raw-output '
    [.regressions[].full_id | gsub("(?<special>[\\\\.+*?()|\\[\\]{}^$])"; "\\\(.special)")]
    | "^(" + (unique | join("|")) + ")$"
' reports/regressions.json)

unmeasured() {
    verdict "regressions could not be measured again: $1 ended with exit code $2"
    echo "::error::regressions could not be measured again: $1 ended with exit code $2"
    exit 1
}

# The base was first, so now it is last: base, change, change, base. What only becomes slower with
# time, such as a machine that is throttled, is slower in one of the two comparisons alone.
measure "$RUNNER_TEMP/change-again" --save-baseline change-again "$only" ||
    unmeasured "the change" $?
cd "$RUNNER_TEMP/base"
code=0
measure "$RUNNER_TEMP/base-again" --save-baseline base-branch-again "$only" || code=$?
cd - >/dev/null
if [[ $code != 0 ]]; then
    unmeasured "the base" "$code"
fi
cargo criterion-report kernels --baseline change-again --compare-to base-branch-again \
    --filter "$only" --output-dir reports/again

jq --null-input --raw-output --slurpfile first reports/regressions.json \
    --slurpfile again reports/again/regressions.json --from-file "$scripts/confirmed.jq" \
    >"$RUNNER_TEMP/confirmed"
if [[ ! -s $RUNNER_TEMP/confirmed ]]; then
    echo "None of the regressions was there when it was measured again." | tee reports/confirmed.md
    verdict "nothing regressed twice"
    exit 0
fi
{
    echo "Regressed twice in a row:"
    echo
    while read -r id kind; do
        echo "- \`$id\`: $kind"
    done <"$RUNNER_TEMP/confirmed"
} >reports/confirmed.md
cat reports/confirmed.md >>"$GITHUB_STEP_SUMMARY"
verdict "**regressed twice**: $(jq --raw-input --slurp --raw-output '
    rtrimstr("\n") | split("\n") | map(split(" ") | "`\(.[0])` (\(.[1]))") | join(", ")
' "$RUNNER_TEMP/confirmed")"
while read -r id kind; do
    echo "::error::confirmed regression: $id: $kind"
done <"$RUNNER_TEMP/confirmed"
exit 1
