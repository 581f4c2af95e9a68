//! For the build script of a package with benchmarks: from configs and kernels to the sources of its bench targets,
//! and the link flags of libtorch.
//!
//! ```no_run
//! // build.rs
//! fn main() {
//!     criterion_torch_build::main();
//! }
//! ```
//!
//! A bench target is one line. `criterion_torch::main!();` measures everything that the package has: the configs of
//! `configs/<mode>` for each mode, and the kernels of `benches/kernels`. `criterion_torch::main!("inference");` measures
//! one mode. The variable `BENCH_CONFIG`, a list of paths like `PATH`, names other configs instead; each goes to the
//! mode that its `benchmark_mode` names.

mod generate;
mod link;

use std::path::PathBuf;

pub use generate::generate;
pub use link::Linked;

/// Writes the sources of the bench targets into `OUT_DIR`, sets the link flags, and tells cargo what to watch. Each
/// error of a config or a kernel becomes one readable error of cargo.
pub fn main() {
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
    // Only a package that depends on the library has something to link.
    if let Some(linked) = Linked::by("criterion_torch") {
        linked.link();
    }
}
