#!/usr/bin/env bash
# publish_release.sh VERSION ARCHIVES: creates the GitHub release vVERSION from the archives in that folder, with the notes
# of CHANGELOG.md. GitHub's `gh` publishes it after the last file is uploaded; until then it is a draft.
set -euo pipefail

if (($# != 2)); then
    echo "usage: publish_release.sh VERSION ARCHIVES" >&2
    exit 2
fi
version=$1 archives=$2
notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
"$(dirname "$0")/release_notes.sh" "$version" >"$notes"

# One list for all: a reader checks what was downloaded with `sha256sum --check --ignore-missing SHA256SUMS`.
(
    cd "$archives"
    cat ./*.tar.gz.sha256 >SHA256SUMS
    sha256sum --check --strict SHA256SUMS
)

# A version such as 1.0.0-rc.1 is not offered as the latest.
options=()
[[ $version != *-* ]] || options+=(--prerelease)
gh release create "v$version" --verify-tag --title "$version" --notes-file "$notes" "${options[@]}" \
    "$archives"/*.tar.gz "$archives/SHA256SUMS"
