#!/usr/bin/env bash
# Starts the nightly run of the branches that the schedule does not run for: GitHub runs schedules on the
# default branch alone. A run by hand gets its own GITHUB_REF_NAME, artifacts and issue.
set -euo pipefail
source "$(dirname "$0")/github.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for branch in main develop; do
    if [[ $branch == "$GITHUB_REF_NAME" ]]; then
        continue
    fi
    status=$(api GET "/branches/$branch")
    case $status in
        200) ;;
        404)
            echo "there is no branch $branch"
            continue
            ;;
        *) refused "whether there is a branch $branch cannot be asked" "$status" ;;
    esac
    jq --null-input --arg ref "$branch" '{$ref, inputs: {nightly: "true"}}' >"$work/start"
    status=$(api POST "/actions/workflows/bench.yml/dispatches" "$work/start")
    case $status in
        # Newer versions of the interface answer 200, and say which run it is.
        200 | 204) echo "started the nightly run of $branch" ;;
        *) refused "the nightly run of $branch cannot be started" "$status" ;;
    esac
done
