#!/usr/bin/env bash
# release_version.sh TAG: prints the version that the tag releases, or says what is not ready for it.
set -euo pipefail

if (($# != 1)); then
    echo "usage: release_version.sh TAG" >&2
    exit 2
fi
tag=$1

metadata=$(cargo metadata --no-deps --offline --format-version 1)
version=$(jq --raw-output '.packages[] | select(.name == "criterion-torch").version' <<<"$metadata")
if [[ $tag != "v$version" ]]; then
    echo "error: Cargo.toml: version is $version, but the tag is $tag: tag v$version, or change [workspace.package] version" >&2
    exit 1
fi

# `cargo binstall` builds the address of an archive from this key.
lacking=$(jq --raw-output '[.packages[] | select(.publish == null and .repository == null).name] | join(", ")' <<<"$metadata")
if [[ -n $lacking ]]; then
    echo "error: no repository in the packages $lacking: add repository = \"https://…\" to [workspace.package] of Cargo.toml," \
        "and repository.workspace = true to each of them" >&2
    exit 1
fi
echo "$version"
