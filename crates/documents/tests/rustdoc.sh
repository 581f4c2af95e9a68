#!/bin/sh
# Has rustdoc alone take unstable options, such as its output in JSON. With the variable set for cargo, build scripts
# would see it, and dependencies would be built again.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
