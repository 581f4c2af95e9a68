#!/usr/bin/env bash
# Measures the base of the change, as the baseline `base-branch`. Where nothing can be compared, the
# output `not_compared` says why; and `broken`, where that is an error.
set -euo pipefail
source "$(dirname "$0")/measure.sh"
source "$(dirname "$0")/base.sh"

base=$RUNNER_TEMP/base

not_compared() {
    echo "::warning::not compared: $1"
    echo "not_compared=$1" >>"$GITHUB_OUTPUT"
    exit 0
}

commit=$(base_commit) || not_compared "$(why_no_base)"
# Asked of git and not of cargo, for which a base that cannot be built has no commands at all.
git grep --quiet '"xtask kernels' "$commit" -- .cargo/config.toml ||
    not_compared "the base, ${commit:0:8}, has no \`cargo xtask kernels\`"
git worktree add --force --detach "$base" "$commit"
cd "$base"
code=0
measure "$RUNNER_TEMP/base-reports" --save-baseline base-branch || code=$?
if [[ $code == 0 ]]; then
    exit 0
fi
# That main cannot be built is main's problem, which every check of it shows; and the pull request
# that mends it has to be able to pass. So this is a warning.
if [[ $code == 101 ]] && ! cargo bench --bench kernels --no-run; then
    not_compared "the base, ${commit:0:8}, cannot be built"
fi
# Anything else would leave every change unguarded for as long as nobody looks: the change is still
# measured, so that its numbers can be judged by hand, and then the job fails.
echo "::error::the base, ${commit:0:8}, could not be measured: exit code $code"
{
    echo "not_compared=the base, ${commit:0:8}, could not be measured: exit code $code"
    echo "broken=yes"
} >>"$GITHUB_OUTPUT"
