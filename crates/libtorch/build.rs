//! With the feature `require`: one readable error when there is no libtorch to build against.

#[path = "src/lib.rs"]
#[allow(dead_code, reason = "the build script needs the inspection alone")]
mod libtorch;

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lib.rs");
    println!("cargo::rerun-if-env-changed=LIBTORCH");
    println!("cargo::rerun-if-env-changed=LIBTORCH_USE_PYTORCH");
    if env::var_os("CARGO_FEATURE_REQUIRE").is_none() {
        return;
    }
    // Without LIBTORCH, or with python's torch, torch-sys looks where it always does.
    let Some(root) = env::var_os("LIBTORCH") else { return };
    if env::var_os("LIBTORCH_USE_PYTORCH").is_some() {
        return;
    }
    if let Err(reason) = libtorch::Libtorch::inspect(Path::new(&root)) {
        println!("cargo::error={reason}");
        println!(
            "cargo::error=run `cargo xtask setup` first, or set LIBTORCH to a libtorch {}",
            libtorch::VERSION
        );
    }
}
