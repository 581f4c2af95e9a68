#!/usr/bin/env bash
# package_release.sh PACKAGE VERSION TARGET BINARIES OUT: packs the programs of a package from the folder BINARIES, with its
# licences and README, into OUT/PACKAGE-vVERSION-TARGET.tar.gz, and writes its SHA-256 beside it.
# The names are those in [package.metadata.binstall] of the package.
set -euo pipefail

if (($# != 5)); then
    echo "usage: package_release.sh PACKAGE VERSION TARGET BINARIES OUT" >&2
    exit 2
fi
package=$1 version=$2 target=$3 binaries=$4 out=$5
name=$package-v$version-$target

root=$(cd "$(dirname "$0")/../.." && pwd)
manifest=$(
    cargo metadata --no-deps --offline --format-version 1 --manifest-path "$root/Cargo.toml" |
        jq --exit-status --arg package "$package" '.packages[] | select(.name == $package)'
) || {
    echo "error: $root/Cargo.toml: the workspace has no package $package" >&2
    exit 1
}
folder=$(dirname "$(jq --raw-output .manifest_path <<<"$manifest")")
programs=$(jq --raw-output '.targets[] | select(.kind == ["bin"]).name' <<<"$manifest")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/$name"
for program in $programs; do
    if [[ ! -x $binaries/$program ]]; then
        echo "error: $binaries/$program: there is no such program: cargo build --release --target $target --package $package" >&2
        exit 1
    fi
    cp "$binaries/$program" "$work/$name/"
done
cp "$folder"/LICENSE-* "$folder/NOTICE" "$folder/README.md" "$work/$name/"

mkdir -p "$out"
# Without it, the tar of macOS adds a file of attributes for each file.
export COPYFILE_DISABLE=1
tar --create --gzip --file "$out/$name.tar.gz" --directory "$work" "$name"
cd "$out"
# macOS has the other program.
if command -v sha256sum >/dev/null; then
    sha256sum "$name.tar.gz" >"$name.tar.gz.sha256"
else
    shasum --algorithm 256 "$name.tar.gz" >"$name.tar.gz.sha256"
fi
echo "$out/$name.tar.gz"
