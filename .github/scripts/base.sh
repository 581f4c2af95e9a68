# What a row is compared with. To be sourced.

# What the change comes on top of: for a pull request, whose checkout is a merge, its first parent.
base_commit() {
    local commit
    if [[ $NIGHTLY == true ]]; then
        # What the branch was the night before.
        commit=$(git rev-list --first-parent --max-count=1 --before='24 hours ago' HEAD) || return
        # The results that the last night committed are no change: there is nothing new to measure.
        if [[ -n $commit ]] && git diff --quiet "$commit" HEAD -- . ':!benchmarks/history'; then
            return 1
        fi
        [[ -n $commit ]] && echo "$commit" && return
    fi
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

# Why `base_commit` found none.
why_no_base() {
    if [[ $NIGHTLY == true ]] && git rev-parse --quiet --verify 'HEAD^1' >/dev/null; then
        echo "nothing but results was committed since the night before"
    else
        echo "there is no earlier commit"
    fi
}
