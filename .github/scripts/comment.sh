#!/usr/bin/env bash
# comment.sh RESULTS: one comment on the pull request with the results of every row, found again by
# its first line and updated in place.
set -euo pipefail

results=$1
marker='<!-- criterion-torch kernels -->'
# GitHub takes 65536 characters.
limit=60000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# section FOLDER: what a row has to say, what matters first.
section() {
    local folder=$1 row file
    row=${folder##*/benchmark-results-}
    printf '<details><summary>%s</summary>\n\n' "$row"
    for file in confirmed regressions summary; do
        if [[ -e $folder/$file.md ]]; then
            cat "$folder/$file.md"
            echo
        fi
    done
    printf '</details>\n'
}

shopt -s nullglob
for folder in "$results"/benchmark-results-*/; do
    section "${folder%/}" >"$work/section"
    jq --null-input --rawfile text "$work/section" --arg row "${folder%/}" '
        {row: ($row | sub(".*/benchmark-results-"; "")), text: $text}'
done >"$work/sections"

run=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID
head="$marker
## Kernels at ${HEAD_SHA:0:8}

Measuring ended with **$RESULT**; [the run and its artifacts]($run)."
jq --slurp --arg head "$head" --argjson limit "$limit" '
    reduce .[] as $section ({body: $head, left_out: []};
        if (.body | length) + ($section.text | length) < $limit
        then .body += "\n\n" + $section.text
        else .left_out += [$section.row] end)
    | if .left_out == [] then . else
        .body += "\n\nToo long for here, so in the artifacts alone: " + (.left_out | join(", "))
      end
    | {body}' "$work/sections" >"$work/body"

# api METHOD PATH [FILE]: leaves the answer in $work/answer, prints the status. The token is on no
# command line.
api() {
    curl --silent --show-error --request "$1" --header 'Accept: application/vnd.github+json' \
        --config <(printf 'header = "Authorization: Bearer %s"\n' "$GITHUB_TOKEN") \
        ${3:+--data-binary "@$3"} --output "$work/answer" --write-out '%{http_code}' \
        "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues/$2"
}

refused() {
    echo "::error::$1: HTTP $2"
    cat "$work/answer" >&2
    exit 1
}

# The id of our comment; nothing if there is none yet.
find_comment() {
    local page status
    for ((page = 1; ; page++)); do
        status=$(api GET "$PULL_REQUEST/comments?per_page=100&page=$page")
        [[ $status == 200 ]] || refused "the comments cannot be read" "$status" >&2
        if [[ $(jq length "$work/answer") == 0 ]]; then
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
    status=$(api PATCH "comments/$id" "$work/body")
else
    status=$(api POST "$PULL_REQUEST/comments" "$work/body")
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
