#!/usr/bin/env bash
# release_notes.sh VERSION [CHANGELOG]: prints the section of the changelog about that version, without its heading.
set -euo pipefail

if (($# < 1 || $# > 2)); then
    echo "usage: release_notes.sh VERSION [CHANGELOG]" >&2
    exit 2
fi
version=$1
changelog=${2:-$(cd "$(dirname "$0")/../.." && pwd)/CHANGELOG.md}

# From the heading `## [VERSION] - DATE` to the next heading of that level or the list of links at the end. Blank lines
# at both ends are dropped. The version goes in as a variable of the environment, because awk would read the escapes of
# one that is assigned with -v.
notes=$(VERSION=$version awk '
    /^## / {
        inside = index($0, "## [" ENVIRON["VERSION"] "]") == 1
        found = found || inside
        next
    }
    /^\[[^]]+\]: / { next }
    inside && (NF || text) { text = text $0 "\n" }
    END {
        if (!found) exit 3
        printf "%s", text
    }
' "$changelog") || {
    code=$?
    if ((code == 3)); then
        echo "error: $changelog: no section ## [$version]: rename ## [Unreleased] to ## [$version] - $(date --utc +%F)" >&2
    fi
    exit 1
}
if [[ -z $notes ]]; then
    echo "error: $changelog: the section ## [$version] is empty: write what changed for users" >&2
    exit 1
fi
printf '%s\n' "$notes"
