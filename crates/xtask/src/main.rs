//! `cargo xtask`.

fn main() -> std::process::ExitCode {
    cargo_torch_bench::run::<xtask::Cli>()
}
