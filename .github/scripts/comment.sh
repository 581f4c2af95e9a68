#!/usr/bin/env bash
# comment.sh RESULTS: one comment on the pull request with the results of every row, found again by
# its first line and updated in place.
set -euo pipefail
# Else what fails inside $(…) is passed over.
shopt -s inherit_errexit
source "$(dirname "$0")/github.sh"

results=$1
marker='<!-- criterion-torch kernels -->'
# GitHub takes 65536 characters.
limit=60000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is known of each row: its verdict, which is never left out, and two texts that may be.
shopt -s nullglob
for folder in "$results"/benchmark-results-*/; do
    for file in verdict regressions confirmed summary; do
        cat "$folder$file.md" >"$work/$file" 2>/dev/null || : >"$work/$file"
    done
    # Where there are none the file says so at length.
    regressed=false
    if [[ -e ${folder}regressions.json ]]; then
        regressed=$(jq '.regressions != []' "${folder}regressions.json")
    fi
    measured=true
    if [[ -e ${folder}summary.json ]]; then
        measured=$(jq '.successful > 0' "${folder}summary.json")
    fi
    jq --null-input --arg row "${folder%/}" \
        --argjson regressed "$regressed" --argjson measured "$measured" \
        --rawfile verdict "$work/verdict" --rawfile regressions "$work/regressions" \
        --rawfile confirmed "$work/confirmed" --rawfile summary "$work/summary" '
        {
            row: ($row | sub(".*/benchmark-results-"; "")),
            verdict: (
                $verdict | rtrimstr("\n")
                | if . == "" then "ended without a word; see its log" else .[:2000] end
            ),
            regressions: (if $regressed then $confirmed + "\n" + $regressions else "" end),
            summary: (if $measured then $summary else "" end)
        }'
done >"$work/rows"

run=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID
head="$marker
## Kernels at ${HEAD_SHA:0:8}

Measuring ended with **$RESULT**; [the run and its artifacts]($run).
"
# Regressions have the room before any summary has.
jq --slurp --arg head "$head" --argjson limit "$limit" '
    def details($what; $text):
        "<details><summary>\(.row): \($what)</summary>\n\n\($text)\n</details>";
    . as $rows
    | [
        (.[] | select(.regressions != "") | {row, text: details("regressions"; .regressions)}),
        (.[] | select(.summary != "") | {row, text: details("summary"; .summary)})
    ]
    | reduce .[] as $part (
        {
            body: ($head
                + ($rows | map("\n- \(.row): \(.verdict)") | add // "\nNo row left results.")),
            left_out: []
        };
        if (.body | length) + ($part.text | length) < $limit
        then .body += "\n\n" + $part.text
        else .left_out += [$part.row] end)
    | if .left_out == [] then . else
        .body += "\n\nToo long for here, so in the artifacts alone: "
            + (.left_out | unique | join(", "))
      end
    | {body}' "$work/rows" >"$work/body"

# The id of our comment; nothing if there is none yet.
find_comment() {
    local page status length
    for ((page = 1; ; page++)); do
        status=$(api GET "/issues/$PULL_REQUEST/comments?per_page=100&page=$page")
        [[ $status == 200 ]] || refused "the comments cannot be read" "$status" >&2
        length=$(jq 'if type == "array" then length else error("no list") end' "$work/answer") ||
            refused "the comments cannot be understood" "$status" >&2
        if [[ $length == 0 ]]; then
            return
        fi
        jq --raw-output --arg marker "$marker" 'first(.[]
            | select(.user.type == "Bot" and (.body | startswith($marker))) | .id)' \
            "$work/answer" >"$work/id"
        if [[ -s $work/id ]]; then
            cat "$work/id"
            return
        fi
    done
}

id=$(find_comment)
if [[ -n $id ]]; then
    status=$(api PATCH "/issues/comments/$id" "$work/body")
else
    status=$(api POST "/issues/$PULL_REQUEST/comments" "$work/body")
fi
case $status in
    200 | 201) ;;
    403)
        # A pull request of a fork has a token that may only read.
        echo "::warning::this token may not comment; the results are in the summary of the job"
        {
            echo "This token may not comment on the pull request, as one of a fork; so here:"
            jq --raw-output .body "$work/body"
        } >>"$GITHUB_STEP_SUMMARY"
        ;;
    *) refused "the comment cannot be written" "$status" ;;
esac
