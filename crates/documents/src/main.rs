//! `criterion-report`, built from the same sources.

fn main() -> std::process::ExitCode {
    criterion_report::cli::main()
}
