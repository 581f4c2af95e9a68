//! From configs to the sources of the bench targets, and the link flags of libtorch.

use std::env;
use std::process::Command;

use criterion_torch_build::Linked;

fn main() {
    criterion_torch_build::main();
    println!("cargo::rustc-env=CRITERION_TORCH_RUSTC={}", rustc_version());
    println!("cargo::rerun-if-env-changed=DOCS_RS");
    // Documents are built without libtorch, with the feature doc-only.
    if env::var_os("DOCS_RS").is_none() {
        link();
    }
}

/// tch's own flags reach only its own binaries, and this package's only its own.
fn link() {
    let Some(linked) = Linked::by("criterion_torch_native") else {
        println!("cargo::error=libtorch was not found; run `cargo torch-bench setup`");
        return;
    };
    linked.link();
    linked.hand_on();
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
