//! `cargo torch-bench`, built from the same sources.

fn main() -> std::process::ExitCode {
    cargo_torch_bench::main()
}
