#!/usr/bin/env bash
# Provisions libtorch, and has everything built with the same one into the same folder, so that the
# base branch, which is another clone, finds its dependencies built.
set -euo pipefail

cargo xtask setup
{
    echo "LIBTORCH=${LIBTORCH:-$GITHUB_WORKSPACE/.libtorch}"
    echo "CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$GITHUB_WORKSPACE/target}"
} >>"$GITHUB_ENV"
