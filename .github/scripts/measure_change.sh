#!/usr/bin/env bash
# Measures the change, and reports it beside the base branch and the history.
set -euo pipefail
source "$(dirname "$0")/measure.sh"

options=()
if [[ -d benchmarks/history ]]; then
    options+=(--history benchmarks/history)
fi
if [[ -z $NOT_COMPARED ]]; then
    options+=(--compare-to base-branch)
fi
code=0
measure reports "${options[@]}" || code=$?
if [[ $code != 0 ]]; then
    verdict "the change could not be measured to the end: exit code $code"
fi
if [[ -n $NOT_COMPARED ]]; then
    mkdir -p reports
    echo "Not compared: $NOT_COMPARED." >reports/regressions.md
    cat reports/regressions.md >>"$GITHUB_STEP_SUMMARY"
    verdict "not compared: $NOT_COMPARED"
fi
if [[ -e reports/summary.json ]]; then
    # Beside a baseline it has the section of regressions itself.
    cat reports/summary.md >>"$GITHUB_STEP_SUMMARY"
    if [[ $(jq .successful reports/summary.json) == 0 ]]; then
        verdict "nothing measured here: $(jq --raw-output '
            first(.results[].error_message | values) // "no case was selected"
            | split("\n")[0]' reports/summary.json)"
    fi
fi
exit "$code"
