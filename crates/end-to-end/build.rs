//! From the configs of this package to the sources of its programs.

fn main() {
    criterion_torch_build::main();
}
