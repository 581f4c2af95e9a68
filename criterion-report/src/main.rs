//! `criterion-report`: turns what `cargo bench` left into tables and files.

fn main() -> std::process::ExitCode {
    criterion_report::cli::main()
}
