#!/usr/bin/env bash
# history.sh RESULTS: commits what each row measured to benchmarks/history on main.
set -euo pipefail

results=$1
stamp=$(date --utc +%Y%m%d-%H%M%S)-${GITHUB_SHA:0:8}

shopt -s nullglob
mkdir -p benchmarks/history
for summary in "$results"/benchmark-results-*/summary.json; do
    row=${summary%/summary.json}
    row=${row##*/benchmark-results-}
    # A row without a single time, such as that of a GPU which is not there, tells nothing later.
    if jq --exit-status '.successful > 0' "$summary" >/dev/null; then
        cp "$summary" "benchmarks/history/benchmark-$stamp-$row.json"
    else
        echo "$row: nothing was measured"
    fi
done

git add benchmarks/history
if git diff --cached --quiet; then
    echo "::warning::nothing was measured, so nothing to commit"
    exit 0
fi
git config user.name 'github-actions[bot]'
git config user.email '41898282+github-actions[bot]@users.noreply.github.com'
git commit --quiet --message "benchmarks: history of ${GITHUB_SHA:0:8} [skip ci]"

# Main may have moved since.
for attempt in 1 2 3 4 5; do
    if git push origin HEAD:main; then
        exit 0
    fi
    echo "main has moved, attempt $attempt"
    git fetch --quiet origin main
    git rebase --quiet FETCH_HEAD
done
echo "::error::main could not be pushed to"
exit 1
