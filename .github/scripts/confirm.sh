#!/usr/bin/env bash
# Measures once more, on both sides, what regressed. Only what regresses twice is confirmed, stands in
# reports/confirmed.md, and ends with exit code 1.
set -euo pipefail
source "$(dirname "$0")/measure.sh"

if [[ -n $NOT_COMPARED ]]; then
    echo "not compared: $NOT_COMPARED"
    exit 0
fi

# What regressed, and in what: `<id> latency`.
regressions() {
    jq --raw-output '.regressions[] | "\(.full_id) \(.kind)"' "$1" | LC_ALL=C sort --unique
}

regressions reports/regressions.json >"$RUNNER_TEMP/first"
if [[ ! -s $RUNNER_TEMP/first ]]; then
    echo "no regressions"
    exit 0
fi
echo "regressed, to be measured again:"
cat "$RUNNER_TEMP/first"
only=$(jq --raw-output '
    [.regressions[].full_id | gsub("(?<special>[\\\\.+*?()|\\[\\]{}^$])"; "\\\(.special)")]
    | "^(" + (unique | join("|")) + ")$"
' reports/regressions.json)

(cd "$RUNNER_TEMP/base" && measure "$RUNNER_TEMP/base-reports-again" --save-baseline base-branch-again "$only")
measure reports/again --compare-to base-branch-again "$only"

regressions reports/again/regressions.json >"$RUNNER_TEMP/again"
LC_ALL=C comm -12 "$RUNNER_TEMP/first" "$RUNNER_TEMP/again" >"$RUNNER_TEMP/confirmed"
if [[ ! -s $RUNNER_TEMP/confirmed ]]; then
    echo "None of the regressions was there when it was measured again." | tee reports/confirmed.md
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
while read -r id kind; do
    echo "::error::confirmed regression: $id: $kind"
done <"$RUNNER_TEMP/confirmed"
exit 1
