# Questions to GitHub. To be sourced; the folder $work is the caller's.

# api METHOD PATH [FILE]: asks about the repository, leaves the answer in $work/answer, prints the status.
# The token is on no command line.
api() {
    curl --silent --show-error --request "$1" --header 'Accept: application/vnd.github+json' \
        --config <(printf 'header = "Authorization: Bearer %s"\n' "$GITHUB_TOKEN") \
        ${3:+--data-binary "@$3"} --output "$work/answer" --write-out '%{http_code}' \
        "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY$2"
}

refused() {
    echo "::error::$1: HTTP $2"
    cat "$work/answer" >&2
    exit 1
}
