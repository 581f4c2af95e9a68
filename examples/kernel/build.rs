//! Finds the kernel, and libtorch.

fn main() {
    criterion_torch_build::main();
}
