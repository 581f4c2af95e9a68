#!/usr/bin/env bash
# Measures the change, and reports it beside the base branch and the history.
set -euo pipefail
source "$(dirname "$0")/measure.sh"

options=(--history benchmarks/history)
if [[ -z $NOT_COMPARED ]]; then
    options+=(--compare-to base-branch)
fi
measure reports "${options[@]}"
if [[ -n $NOT_COMPARED ]]; then
    echo "Not compared: $NOT_COMPARED." >reports/regressions.md
fi
cat reports/regressions.md reports/summary.md >>"$GITHUB_STEP_SUMMARY"
