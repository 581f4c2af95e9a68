//! The link flags of libtorch, which no dependency can give to this package's tests.

use std::env;

use criterion_torch_build::Linked;

fn main() {
    println!("cargo::rerun-if-env-changed=DOCS_RS");
    // Documents are built without libtorch, with the feature doc-only.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    match Linked::by("criterion_torch_native") {
        Some(linked) => linked.link(),
        None => println!("cargo::error=libtorch was not found; run `cargo torch-bench setup`"),
    }
}
