#![doc = include_str!("../README.md")]
#![allow(clippy::needless_doctest_main, reason = "a build script has a main")]

mod generate;

use std::path::PathBuf;

// For the packages of this repository and their tests.
#[doc(hidden)]
pub use generate::generate;

/// Writes the sources of the bench targets into `OUT_DIR`, sets the link flags, and tells cargo what to watch. Each
/// error of a config or a kernel becomes one readable error of cargo.
///
/// ```no_run
/// // build.rs
/// fn main() {
///     criterion_torch_build::main();
/// }
/// ```
pub fn main() {
    // Without libtorch there are no programs to generate for.
    if std::env::var_os("DOCS_RS").is_some() {
        return;
    }
    let folder = |name| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    println!("cargo::rerun-if-env-changed=BENCH_CONFIG");
    println!("cargo::rerun-if-env-changed={}", plan::OVERRIDE_VARIABLE);
    let bench_config = std::env::var_os("BENCH_CONFIG");
    let (package, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    if let Err(errors) = generate(&package, bench_config.as_deref(), &out) {
        for error in errors.0 {
            println!("cargo::error={error}");
        }
    }
    libtorch::find::link_all();
}
