#![doc = include_str!("../README.md")]
#![allow(clippy::needless_doctest_main, reason = "a build script has a main")]

mod generate;
mod link;

use std::path::{Path, PathBuf};

// For the packages of this repository and their tests.
#[doc(hidden)]
pub use generate::generate;
use plan::{CargoPackage, Diagnostics, Package};

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
    println!("cargo::rerun-if-env-changed=DOCS_RS");
    // Without libtorch there are no programs to generate for.
    if std::env::var_os("DOCS_RS").is_some() {
        return;
    }
    let folder = |name| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    let built = build(&folder("CARGO_MANIFEST_DIR"), &folder("OUT_DIR"));
    for error in built.err().into_iter().flatten() {
        println!("cargo::error={error}");
    }
}

/// [`main`] for the package in `folder`; the errors that there are.
fn build(folder: &Path, out: &Path) -> Result<(), Vec<String>> {
    println!("cargo::rerun-if-env-changed=BENCH_CONFIG");
    println!("cargo::rerun-if-env-changed={}", plan::OVERRIDE_VARIABLE);
    let bench_config = std::env::var_os("BENCH_CONFIG");
    let said = |errors: Diagnostics| errors.0.iter().map(ToString::to_string).collect::<Vec<_>>();
    let package = CargoPackage::ask(folder).map_err(|error| vec![error])?;
    for manifest in package.manifests() {
        println!("cargo::rerun-if-changed={}", manifest.display());
    }
    let libraries = match package.libraries() {
        Ok(libraries) => libraries.map_err(said)?,
        // An answer can need sources that this build does not, and that are not here.
        Err(why) => {
            println!(
                "cargo::warning=kernels, recipes and models of other crates are left out, as cargo does not say which \
                 there are: {why}; run `cargo fetch` and save build.rs"
            );
            Vec::new()
        }
    };
    let built = Package { folder, libraries: &libraries };
    generate(built, bench_config.as_deref(), out).map_err(said)?;
    link::link(&package).map_err(|error| vec![error])
}
