//! `cargo criterion-report`: the same program, by the name that cargo looks for.

/// As in `criterion-report`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    criterion_report::cli::main()
}
