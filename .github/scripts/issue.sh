#!/usr/bin/env bash
# issue.sh RESULTS: one open issue with what regressed, found again by its label and its first line, and
# updated in place. It is opened when something regresses, and closed by people alone.
set -euo pipefail
# Else what fails inside $(…) is passed over.
shopt -s inherit_errexit
source "$(dirname "$0")/github.sh"

results=$1
label=benchmark
marker='<!-- criterion-torch regressions -->'
# GitHub takes 65536 characters.
limit=60000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

shopt -s nullglob
for folder in "$results"/benchmark-results-*/; do
    cat "${folder}verdict.md" >"$work/verdict" 2>/dev/null || : >"$work/verdict"
    cat "${folder}regressions.md" >"$work/text" 2>/dev/null || : >"$work/text"
    jq --null-input --arg row "${folder%/}" --rawfile verdict "$work/verdict" --rawfile text "$work/text" '
        {
            row: ($row | sub(".*/benchmark-results-"; "")),
            verdict: ($verdict | rtrimstr("\n") | if . == "" then "ended without a word" else .[:2000] end),
            text: $text
        }
        # The words of confirm.sh and compare_target.sh.
        | .regressed = (.verdict | startswith("**regressed"))'
done >"$work/rows"
regressed=$(jq --slurp 'map(select(.regressed)) | length' "$work/rows")

run=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID
head="$marker
Measured at $GITHUB_SHA on \`$GITHUB_REF_NAME\` ($GITHUB_EVENT_NAME); [the run and its artifacts]($run).
"
jq --slurp --arg head "$head" --arg tag "$label" --argjson limit "$limit" --argjson regressed "$regressed" \
    --arg at "$GITHUB_REF_NAME ${GITHUB_SHA:0:8}" '
    def details: "\n\n<details><summary>\(.row)</summary>\n\n\(.text)\n</details>";
    (if $regressed == 0 then "Nothing regressed in this run.\n" else "" end) as $none
    | ($head + $none + (map("\n- \(.row): \(.verdict)") | add // "\nNo row left results.")) as $start
    | reduce (.[] | select(.regressed) | details) as $part ($start;
        if (length) + ($part | length) < $limit then . + $part else . end)
    | {title: "Benchmarks @ \($at)", body: ., labels: [$tag, "automated"]}' "$work/rows" >"$work/issue"

# The number of our open issue; nothing if there is none.
find_issue() {
    local page status length
    for ((page = 1; ; page++)); do
        status=$(api GET "?state=open&labels=$label&per_page=100&page=$page")
        [[ $status == 200 ]] || refused "the issues cannot be read" "$status" >&2
        length=$(jq 'if type == "array" then length else error("no list") end' "$work/answer") ||
            refused "the issues cannot be understood" "$status" >&2
        if [[ $length == 0 ]]; then
            return
        fi
        # GitHub lists pull requests as issues, too.
        jq --raw-output --arg marker "$marker" 'first(.[]
            | select(has("pull_request") | not)
            | select(.user.type == "Bot" and ((.body // "") | startswith($marker))) | .number)' \
            "$work/answer" >"$work/number"
        if [[ -s $work/number ]]; then
            cat "$work/number"
            return
        fi
    done
}

number=$(find_issue)
if [[ -n $number ]]; then
    jq 'del(.labels)' "$work/issue" >"$work/change"
    status=$(api PATCH "/$number" "$work/change")
elif [[ $regressed == 0 ]]; then
    echo "nothing regressed, and no issue is open"
    exit 0
else
    status=$(api POST "" "$work/issue")
fi
case $status in
    200 | 201) ;;
    *) refused "the issue cannot be written" "$status" ;;
esac
