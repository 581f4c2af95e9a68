//! `criterion-report`: turns what `cargo bench` left into tables and files.

/// Thousands of records are some million small strings, made by all processors at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    criterion_report::cli::main()
}
