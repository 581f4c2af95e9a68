//! `criterion-report`, built from the same sources and with the same settings as the benchmarks.

fn main() -> std::process::ExitCode {
    criterion_report::cli::main()
}
