fn main() {
    criterion_torch_build::main();
}
