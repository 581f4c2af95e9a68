#!/usr/bin/env bash
# issue.sh RESULTS: one open issue per branch with what regressed, found again by its label and its first
# line. It is opened when something regresses, and closed by people alone. A run that finds nothing new
# changes the line about the last run only: the next push is compared with a commit that has regressed
# already, so that its silence proves nothing.
set -euo pipefail
# Else what fails inside $(…) is passed over.
shopt -s inherit_errexit
source "$(dirname "$0")/github.sh"

results=$1
label=benchmark
marker="<!-- criterion-torch regressions $GITHUB_REF_NAME -->"
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
            verdict: ($verdict | split("\n")[0] // "" | if . == "" then "ended without a word" else .[:2000] end),
            text: $text
        }
        # The words of confirm.sh, compare_target.sh and measure_change.sh.
        | .regressed = (.verdict | startswith("**regressed"))
        | .quiet = (.verdict | startswith("nothing regressed") or startswith("nothing measured"))'
done >"$work/rows"
regressed=$(jq --slurp 'map(select(.regressed)) | length' "$work/rows")

event=$GITHUB_EVENT_NAME
if [[ $NIGHTLY == true ]]; then
    event=nightly
fi
run=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID
jq --slurp --raw-output --arg at "$GITHUB_SHA" --arg event "$event" --arg run "$run" '
    (map(select(.regressed or .quiet | not) | "\(.row): \(.verdict[:300])")) as $unknown
    | [
        (if any(.[]; .regressed) then "see below for what regressed" else empty end),
        if . == [] then "no row left results"
        elif $unknown != [] then "it is unknown whether these rows regressed: " + ($unknown | join("; "))
        elif any(.[]; .regressed) then empty
        else "nothing regressed" end
    ]
    | "Last run: \($at) (\($event)), [its results](\($run)): \(join("; "))."' "$work/rows" >"$work/last-run"

# Keeps the body of our open issue in $work/open and prints its number; nothing if there is none.
find_issue() {
    local page status length
    for ((page = 1; ; page++)); do
        status=$(api GET "/issues?state=open&labels=$label&per_page=100&page=$page")
        [[ $status == 200 ]] || refused "the issues cannot be read" "$status" >&2
        length=$(jq 'if type == "array" then length else error("no list") end' "$work/answer") ||
            refused "the issues cannot be understood" "$status" >&2
        if [[ $length == 0 ]]; then
            return
        fi
        # GitHub lists pull requests as issues, too.
        jq --arg marker "$marker" 'first(.[]
            | select(has("pull_request") | not)
            | select(.user.type == "Bot" and ((.body // "") | startswith($marker))))' \
            "$work/answer" >"$work/found"
        if [[ -s $work/found ]]; then
            jq --join-output .body "$work/found" >"$work/open"
            jq .number "$work/found"
            return
        fi
    done
}

: >"$work/open"
number=$(find_issue)
if [[ -z $number && $regressed == 0 ]]; then
    echo "no issue is open. $(<"$work/last-run")"
    exit 0
fi
jq --slurp --arg marker "$marker" --rawfile last "$work/last-run" --rawfile open "$work/open" --arg run "$run" \
    --arg tag "$label" --arg branch "$GITHUB_REF_NAME" --arg at "$GITHUB_SHA" --arg event "$event" \
    --argjson limit "$limit" '
    def details: "\n\n<details><summary>\(.row)</summary>\n\n\(.text)\n</details>";
    "\n## Regressed at " as $heading
    | "\n\nWhat regressed before had no room here: see the earlier edits of this text." as $no_room
    # What people wrote above the first regression, and the regressions, of which a run has one at most.
    | ($open | gsub("\r\n"; "\n")) as $open
    | ($open | split("\n")[1:]
        | if (.[0] // "" | startswith("Last run: ")) then .[1:] else . end
        | join("\n") | split($no_room) | join("") | split($heading)) as $before
    | ($before[1:] | map(select(contains("(\($run))") | not) | $heading + .)) as $earlier
    | "\($marker)\n\($last)\($before[0] // "")" as $head
    | if any(.[]; .regressed) then
        ($head + $heading + "\($at) (\($event))\n\n[The run and its artifacts](\($run)) on `\($branch)`.\n"
            + (map("\n- \(.row): \(.verdict)") | add)) as $start
        | reduce (.[] | select(.regressed) | details) as $part ($start;
            if (length) + ($part | length) < $limit then . + $part else . end)
        | . + "\n"
      else $head end
    | reduce $earlier[] as $part ({body: ., dropped: ($open | contains($no_room)), stop: false};
        if (.stop | not) and (.body | length) + ($part | length) < $limit then .body += $part
        else .stop = true end)
    | {
        title: "Benchmarks @ \($branch) \($at[:8])",
        body: (.body + if .stop or .dropped then $no_room else "" end),
        labels: [$tag, "automated"]
    }' "$work/rows" >"$work/issue"

if [[ -n $number ]]; then
    # The title names the commit of the newest regression; people may have changed the labels.
    jq --argjson regressed "$regressed" 'if $regressed == 0 then {body} else {title, body} end' \
        "$work/issue" >"$work/change"
    status=$(api PATCH "/issues/$number" "$work/change")
else
    status=$(api POST "/issues" "$work/issue")
fi
case $status in
    200 | 201) ;;
    *) refused "the issue cannot be written" "$status" ;;
esac
