//! The link flags of libtorch, which no dependency can give to this package's tests.

use criterion_torch_build::Linked;

fn main() {
    match Linked::by("criterion_torch_native") {
        Some(linked) => linked.link(),
        None => println!("cargo::error=libtorch was not found; run `cargo torch-bench setup`"),
    }
}
