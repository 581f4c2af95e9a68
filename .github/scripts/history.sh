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
    code=0
    jq --exit-status '.successful > 0' "$summary" >/dev/null || code=$?
    case $code in
        # What trends read, which is little of it: this grows with every push.
        0) jq --compact-output '{schema, version, timestamp, commit, results: [
                .results[] | select(.criterion != null)
                | .criterion |= {median_ms, low_ms, high_ms, confidence_level}
                | .accuracy |= (if . then {rmse, relative_error} else null end)
                | {full_id, host_fingerprint, outcome, criterion, accuracy}
            ]}' "$summary" >"benchmarks/history/benchmark-$stamp-$row.json" ;;
        1) echo "$row: nothing was measured" ;;
        *)
            echo "::error::$row: $summary cannot be read"
            exit 1
            ;;
    esac
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
    git fetch --quiet origin main
    if git merge-base --is-ancestor FETCH_HEAD HEAD; then
        echo "::error::main could not be pushed to, and has not moved: see what git says above"
        exit 1
    fi
    echo "main has moved, attempt $attempt"
    git rebase --quiet FETCH_HEAD
done
echo "::error::main could not be pushed to: it has moved each of $attempt times"
exit 1
