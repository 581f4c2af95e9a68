#!/usr/bin/env bash
# Measures the base of the change, as the baseline `base-branch`. Where there is nothing to compare
# with, the output `not_compared` says why.
set -euo pipefail
source "$(dirname "$0")/measure.sh"

base=$RUNNER_TEMP/base

not_compared() {
    echo "::warning::not compared: $1"
    echo "not_compared=$1" >>"$GITHUB_OUTPUT"
    exit 0
}

# What the change comes on top of: for a pull request, whose checkout is a merge, its first parent.
base_commit() {
    local commit
    case $GITHUB_EVENT_NAME in
        push) commit=$(git rev-parse --quiet --verify "$BEFORE^{commit}") && echo "$commit" && return ;;
        workflow_dispatch)
            commit=$(git merge-base "origin/$DEFAULT_BRANCH" HEAD) || return
            if [[ $commit != "$(git rev-parse HEAD)" ]]; then
                echo "$commit"
                return
            fi
            ;;
    esac
    git rev-parse --quiet --verify 'HEAD^1^{commit}'
}

commit=$(base_commit) || not_compared "there is no earlier commit"
git worktree add --force --detach "$base" "$commit"
cd "$base"
cargo xtask kernels --help >/dev/null || not_compared "the base, ${commit:0:8}, has no \`cargo xtask kernels\`"
measure "$RUNNER_TEMP/base-reports" --save-baseline base-branch ||
    not_compared "the base, ${commit:0:8}, could not be measured: exit code $?"
