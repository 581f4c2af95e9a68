//! From configs to the sources of the bench targets, and the link flags of libtorch.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    // In a registry this package has no benchmarks.
    if Path::new("benches").is_dir() {
        criterion_torch_build::main();
    }
    println!("cargo::rustc-env=CRITERION_TORCH_RUSTC={}", rustc_version());
    // Cargo's messages have it, so that `cargo torch-bench bundle` knows what the benchmarks need of a processor.
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    println!("cargo::rustc-env=CRITERION_TORCH_TARGET_FEATURES={features}");
}

/// Goes into every record: the compiler is a circumstance of a measurement.
fn rustc_version() -> String {
    let rustc = env::var_os("RUSTC").expect("cargo sets it");
    let output = Command::new(rustc).arg("--version").output();
    let text = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    text.map_or_else(
        || "unknown".to_owned(),
        |text| String::from_utf8_lossy(&text).trim().to_owned(),
    )
}
