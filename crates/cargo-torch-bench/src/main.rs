//! `cargo torch-bench`.

fn main() -> std::process::ExitCode {
    cargo_torch_bench::main()
}
