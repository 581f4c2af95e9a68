//! Finds the recipe and the config, and libtorch.

fn main() {
    criterion_torch_build::main();
}
