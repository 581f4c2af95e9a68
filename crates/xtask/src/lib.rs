//! `cargo xtask`: the commands of `cargo torch-bench`, and those that only this repository needs.

mod gpu_check;
mod results;
mod test;
mod torchao;

#[cfg(test)]
#[path = "../../../tests/common/skip.rs"]
mod skip;

use std::ffi::OsString;
use std::process::ExitCode;

use cargo_torch_bench::cli::{COLUMNS, CommandLine};
use cargo_torch_bench::error::Result;
use cargo_torch_bench::workspace::Workspace;
use cargo_torch_bench::{cli, cli_examples, name};
use clap::{Parser, Subcommand};
use test::Tests;

/// Provision libtorch, then run the plain cargo command
///
/// After any of setup, bench, kernels and test, plain `cargo bench`, `cargo bench -- int8wo` and
/// `cargo test` work, too, with no variable set.
///
/// Exit codes: 0 fine; 1 something is missing or failed; 2 a wrong command line. bench, kernels and
/// test end with the code of the first command that failed.
#[derive(Debug, PartialEq, Parser)]
#[command(bin_name = name::ALIAS, max_term_width = COLUMNS, after_long_help = cli_examples::EXAMPLES)]
// An alias gives options, and the user may give them again.
#[command(args_override_self = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, PartialEq, Subcommand)]
enum Command {
    #[command(flatten)]
    Tool(cli::Command),
    /// Run setup, then cargo test --workspace
    ///
    /// Skips the tests that take long. Every test that did not run is listed at the end with the
    /// reason: it is long, or something is missing on this machine.
    #[command(after_long_help = TEST)]
    Test {
        /// Run the long tests, too: minutes of compilations; before `--`
        #[arg(long, conflicts_with = "nightly")]
        all: bool,
        /// Run only the nightly tests, which take hours; before `--`
        ///
        /// They try every float32 and every compiled variant, make every addition of the book, and
        /// run bundles and sweeps. They need what `cargo xtask setup --python` brings.
        #[arg(long)]
        nightly: bool,
        /// Passed on to `cargo test` as they are, and after `--` to the test harness
        arguments: Vec<OsString>,
    },
    /// Measure what the documents publish, into docs/results
    ///
    /// Each result is written to docs/results/<machine> with its commands, machine, commit and
    /// date. Uncommitted changes are refused, apart from
    /// documents: a result names its commit. Run it on a quiet machine.
    #[command(after_long_help = RESULTS)]
    Results(results::Options),
    /// Measure our times against torchao 0.17.0's own, in turn
    ///
    /// Both sides run the same recipe, model, shape, dtype and threads, in turn. Prints both times
    /// and our time over torchao's with its 95 % interval. Run it on a quiet machine.
    ///
    /// Exit codes: 0 fine; 1 a ratio is above 1.05, or a case failed.
    #[command(after_long_help = COMPARE_TORCHAO)]
    CompareTorchao(torchao::Comparison),
    /// Prove everything about a GPU on this one, and write it into one page
    ///
    /// Takes every step even if one before it failed: the doctor, clocks and memory counters, every
    /// kernel, recipe, pattern and compiled variant against float64, compute-sanitizer, NVML,
    /// bandwidth, and errors made on purpose. Without a GPU every step but the doctor's is skipped,
    /// with its reason.
    ///
    /// The page and the file beside it go without names of host and user and without folders of
    /// this machine, so that they can be attached to a bug report. Nothing else should run on the
    /// GPU meanwhile.
    ///
    /// Exit codes: 0 no step failed; 1 one did; 2 a wrong command line.
    #[command(after_long_help = GPU_CHECK)]
    GpuCheck(gpu_check::Request),
}

impl CommandLine for Cli {
    fn tool(&self) -> Option<&cli::Command> {
        match &self.command {
            Command::Tool(command) => Some(command),
            _ => None,
        }
    }

    fn run(self) -> Result<ExitCode> {
        let workspace = Workspace::of_current_dir;
        match self.command {
            Command::Tool(command) => cargo_torch_bench::run_command(command),
            Command::Test { all, nightly, arguments } => {
                let tests = match (all, nightly) {
                    (false, false) => Tests::Usual,
                    (true, _) => Tests::All,
                    (false, true) => Tests::Nightly,
                };
                test::command(&workspace()?, tests, &arguments)
            }
            Command::Results(options) => results::command(&workspace()?, &options),
            Command::CompareTorchao(comparison) => torchao::command(&workspace()?, comparison),
            Command::GpuCheck(request) => gpu_check::command(&workspace()?, &request),
        }
    }
}

const TEST: &str = "\
Examples:
  cargo xtask test                             every test of the workspace that is not long
  cargo xtask test --all                       the long ones, too
  cargo xtask test expand -- --nocapture       tests whose name contains expand
  cargo xtask test --nightly                   every float32, every compiled variant
  cargo xtask test --nightly exp_is            one of them

See also: cargo test --help
Read more: docs/book/src/extending/README.md";

const RESULTS: &str = "\
Examples:
  cargo xtask results --list                   names, how long each takes, and files
  cargo xtask results repeat

Read more: docs/book/src/results.md";

const COMPARE_TORCHAO: &str = "\
Examples:
  cargo xtask compare-torchao configs/suites/recipes-cpu.yml
  cargo xtask compare-torchao configs/suites/recipes-cpu.yml --filter '/int8wo/.*-1x'
  cargo xtask compare-torchao configs/suites/compile-cpu.yml --filter '\\+'

Read more: docs/book/src/method/torchao.md";

const GPU_CHECK: &str = "\
Example:
  cargo xtask gpu-check --quick

Read more: docs/book/src/extending/gpu-kernels.md";

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
