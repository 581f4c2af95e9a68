//! `cargo torch-bench`, in this repository also `cargo xtask`.

fn main() -> std::process::ExitCode {
    cargo_torch_bench::main()
}
