//! The command line.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, Parser, Subcommand};
use plan::flag::{self, Word};

use crate::bench::TourDevice;
use crate::bench_arguments::runs;
use crate::cli_examples;
use crate::error;
use crate::name;
use crate::suite::{calibrate, operators, recommend};
use crate::{bundle, cache_report, compare_branches, kernels, new, setup, submit};

/// Columns of the help: room for the installed tool's name, which is longer than the alias.
pub const COLUMNS: usize = 94;

/// Provision libtorch, then run the plain cargo command
///
/// After any of setup, bench and kernels, plain `cargo bench`, `cargo bench -- int8wo` and
/// `cargo test` work, too, with no variable set.
///
/// Exit codes: 0 fine; 1 something is missing or failed; 2 a wrong command line. bench and kernels
/// end with the code of the first command that failed.
#[derive(Debug, PartialEq, Parser)]
#[command(bin_name = name::ALIAS, max_term_width = COLUMNS, after_long_help = cli_examples::EXAMPLES)]
// An alias gives options, and the user may give them again.
#[command(args_override_self = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, PartialEq, Subcommand)]
pub enum Command {
    /// Add benchmarks to the package in this folder
    ///
    /// Adds criterion-torch to its dependencies, build.rs, benches/torch.rs, and a config and a kernel
    /// as examples. Afterwards `cargo xtask setup` and `cargo bench` work.
    ///
    /// Existing files are not written over: they are named, with what you have to add to them.
    /// Everything is checked before anything is written.
    ///
    /// Exit codes: 0 fine; 1 something is left for you to add, or failed; 2 a wrong command line.
    #[command(after_long_help = cli_examples::NEW)]
    New(new::Options),
    /// Provision libtorch 2.11.0 and link it as .libtorch
    ///
    /// Takes torch's wheel from the Python package index with python3's pip, once per user, and
    /// links it into this workspace. If that was done already, nothing is done; it may be
    /// interrupted. If nothing tells cargo about the link, it writes .cargo/config.toml; if you have
    /// such a file, it says what to add.
    ///
    /// Without --cpu and --cuda it keeps what .libtorch leads to, if that is a whole
    /// libtorch 2.11.0. Otherwise it takes cuda if an NVIDIA driver is found, and cpu if not.
    #[command(after_long_help = cli_examples::SETUP)]
    Setup(setup::Options),
    /// Run setup and a tour of the benchmarks, then say what pays on this machine
    ///
    /// Without arguments it is a tour of 90 seconds (configs/suites/tour), of the GPU if there is one
    /// that libtorch reaches, and of the CPU if not. With arguments, BENCH_CONFIG or --full it is
    /// `cargo bench` with its default suites, about five minutes. Then one screen says what the
    /// results say, and report.html is written beside the records.
    #[command(after_long_help = cli_examples::BENCH)]
    Bench {
        /// Measure in N runs, each a process of its own; before `--`
        ///
        /// The interval of one run does not show how far off the next one would be. The runs are
        /// kept as main@1 to main@N with `-- --save-baseline main`, otherwise as base@1 to base@N;
        /// earlier runs under that name are removed. No report follows: `cargo criterion-report
        /// compare main pr` takes all runs of a name.
        // Else clap would find fault with the next word, not with this option.
        #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = runs)]
        repeat: Option<u64>,
        /// Measure for this long in all, e.g. 90s, 10min, 2h; before `--`
        ///
        /// Every case gets its minimum, and the rest goes to undecided speed-ups. Each bench target gets
        /// a share by its number of cases. With --repeat it is the time of one run.
        #[arg(long, value_name = "TIME")]
        budget: Option<String>,
        /// Run all default suites, not the tour
        #[arg(long)]
        full: bool,
        /// The device of the tour, where it is not to be the best one
        #[arg(long, value_enum, value_name = "DEVICE", conflicts_with_all = ["full", "repeat"])]
        device: Option<TourDevice>,
        /// Print criterion's output, which otherwise goes to bench.log
        #[arg(long)]
        verbose: bool,
        /// Then write CSV and traces where torchao's runner does; before `--`
        ///
        /// In `output_dir` of each config, from the root of the workspace, or in DIR:
        /// `criterion-report csv --torchao-output`.
        #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
        #[arg(conflicts_with = "repeat")]
        torchao_output: Option<Option<PathBuf>>,
        /// Passed on to `cargo bench` as they are, and after `--` to criterion
        arguments: Vec<OsString>,
    },
    /// Build the benchmarks and pack them into one file, for hosts without Rust
    ///
    /// The bundle holds the bench targets, their plan, the parts of libtorch that they need,
    /// criterion-report, checksums, and `torch-bench-run`, which runs all or a shard of them. A host
    /// needs Linux, a glibc as new as this machine's and no more: no Rust, no Python, no network. What
    /// does not fit there is an error with a remedy.
    ///
    /// Exit codes: 0 fine; 1 something is missing; 2 a wrong command line. If the build fails, its exit
    /// code is this one's.
    #[command(after_long_help = cli_examples::BUNDLE)]
    Bundle(bundle::Options),
    /// Write the files by which a scheduler runs the shards of a bundle
    ///
    /// Reads the plan of an unpacked bundle, divides it into shards of about five minutes, and writes
    /// what SLURM, Kubernetes, GitHub or SkyPilot needs to run them and to merge their results; then
    /// says how to use it. The scheduler repeats a shard that was killed or lost its host, and no shard
    /// of which a case failed.
    ///
    /// Exit codes: 0 fine; 1 something is missing; 2 a wrong command line. With --run, the code of the
    /// scheduler's program if that fails.
    #[command(after_long_help = cli_examples::SUBMIT)]
    Submit(submit::Options),
    /// Build two revisions, measure them in lock-step, and say what changed
    ///
    /// It takes any bench target with criterion 0.5 to 0.8, as it is, and needs no libtorch for it. Both
    /// revisions are built. Then two processes live at a time, one of each, and take turns benchmark by
    /// benchmark, until all are decided or --budget is spent. A difference counts only if fresh
    /// processes confirm it.
    ///
    /// The dot is this checkout as it lies: leave its sources alone until the end. Commits are
    /// checked out in target/compare and kept for the next time. A later comparison of the same names
    /// replaces the earlier one; `cargo criterion-report compare A B` shows it again.
    ///
    /// Exit codes are those of the comparison: 0 fine; 1 what --fail-on names was found; 2 a
    /// mistake, or another process measures here. If a cargo command failed, its exit code is this
    /// one's.
    #[command(override_usage = cli_examples::COMPARE_BRANCHES_USAGE, after_long_help = cli_examples::COMPARE_BRANCHES)]
    CompareBranches(compare_branches::Options),
    /// Run setup, measure your kernels in benches/kernels, and write their report
    ///
    /// Every kernel there is found, built, checked against its reference and measured; nothing is
    /// registered. Then reports/summary.md is written for people and JSON files beside it for
    /// programs.
    ///
    /// --iters, --warmup, --precision, --backends and --seed win over every bench.yaml.
    /// BENCH_CONFIG names other configs, which these options do not override. If an option is given
    /// twice, the last one counts.
    ///
    /// Exit codes: 0 fine; 1 a case failed or the run died (the report is written), or what
    /// --fail-on names was found; 2 a mistake, with its place: nothing was measured.
    #[command(after_long_help = cli_examples::KERNELS)]
    Kernels(kernels::Options),
    /// Measure and judge the kernels of a submission by the task of somebody else
    ///
    /// The files of both folders become one kernel, of which the task has kernel.rs, bench.yaml and the baseline. Each
    /// kernel runs in a process of its own, on inputs that it has not seen, and is timed by another process. The table
    /// can be published: what was checked, how often, and with which seeds.
    ///
    /// It needs the bench target `kernels`. Exit codes: 0 all kernels passed; 1 one failed, or was not judged; 2 a mistake,
    /// with its place: nothing was measured.
    #[command(after_long_help = cli_examples::JUDGE)]
    Judge(kernels::submission::Options),
    /// Run setup, measure the machine's limits and what fusing gains, and write its profile
    ///
    /// Measures matrix products, memory bandwidth, the cost of a call, and every fusion pattern against
    /// its unfused operations; then prints a summary and writes the profile, in the form of
    /// branes-ai/graphs' calibrations.
    ///
    /// It needs the bench targets `calibration` and `fusion`, or `torch`, which `cargo xtask new`
    /// adds. The configs are written to target/torch-bench.
    ///
    /// Exit codes: 0 fine; 1 a case failed (the profile is written); 2 a wrong command line.
    #[command(after_long_help = cli_examples::CALIBRATE)]
    Calibrate(Box<calibrate::Options>),
    /// Run setup, measure operators in every implementation, and write benchmark_results.json
    ///
    /// Measures LayerNorm, GELU, Swish and losses at every combination of the sizes, prints the
    /// tables, and writes the JSON array of the comprehensive operator benchmark, which its analysis
    /// scripts read: cases with a time, without the limit. Sizes above 50 million elements are
    /// skipped.
    ///
    /// It needs the bench target `operators`, or `torch`, which `cargo xtask new` adds.
    ///
    /// Exit codes: 0 fine; 1 a case failed (the file is written); 2 a wrong command line.
    #[command(after_long_help = cli_examples::OPERATORS)]
    Operators(Box<operators::Options>),
    /// Run setup, measure the products of a model, and say which recipe each of its layers takes
    ///
    /// Reads the sizes of a model's linear layers from its config.json, measures each product once with
    /// every recipe and in other dtypes, and decides for each group of layers. Writes the decision for
    /// programs (recommendation.json), as Python for torchao (recommendation.py), as a config that
    /// measures it again (recommendation.yml), and as a page (recommendation.html).
    ///
    /// It needs the bench target `inference`, or `torch`, which `cargo xtask new` adds. The config is
    /// written to target/torch-bench.
    ///
    /// Exit codes: 0 fine; 1 a case failed; 2 a wrong command line or an unknown model.
    #[command(after_long_help = cli_examples::RECOMMEND)]
    Recommend(Box<recommend::Options>),
    /// Print the libtorch that setup chooses here: cpu or cuda
    ///
    /// It is that of LIBTORCH; else that of the libtorch that .libtorch leads to; else cuda if an
    /// NVIDIA driver is found, and cpu if not. Nothing is provisioned or linked.
    #[command(after_long_help = cli_examples::FLAVOUR)]
    Flavour,
    /// Print the path of the Python that compiles
    ///
    /// It is the one that CRITERION_TORCH_PYTHON names; else the one of `cargo xtask setup
    /// --python`; else python3 of the PATH. `cargo xtask doctor` shows whether it has everything.
    #[command(after_long_help = cli_examples::PYTHON)]
    Python,
    /// Show what is provisioned and compiled here, and remove what was compiled
    ///
    /// JSON has sizes in bytes on disk, and times in seconds since 1970.
    #[command(after_long_help = cli_examples::CACHE)]
    Cache(cache_report::Options),
    /// Show what this machine has, and what to do about each gap
    ///
    /// Changes nothing, and ends with 0 if everything that is needed is there, else with 1.
    #[command(after_long_help = cli_examples::DOCTOR)]
    Doctor,
}

/// A program's command line: the tool's, or one that has more commands.
pub trait CommandLine: Parser {
    /// The command, if it is one of the tool's.
    fn tool(&self) -> Option<&Command>;

    /// Runs the command.
    fn run(self) -> error::Result<ExitCode>;
}

impl CommandLine for Cli {
    fn tool(&self) -> Option<&Command> {
        Some(&self.command)
    }

    fn run(self) -> error::Result<ExitCode> {
        crate::run_command(self.command)
    }
}

/// Reads words, the program's name first.
pub fn parsed<C: CommandLine>(words: Vec<OsString>) -> Result<C, clap::Error> {
    let parsed = C::try_parse_from(ours_first(&C::command(), words))?;
    if let Some(Command::Calibrate(options)) = parsed.tool() {
        let refused = |what| C::command().error(ErrorKind::ArgumentConflict, what);
        options.check().map_err(refused)?;
    }
    Ok(parsed)
}

/// The command line of this process. Help and mistakes end it.
pub fn read<C: CommandLine>() -> C {
    parsed(name::settle(std::env::args_os().collect())).unwrap_or_else(|error| {
        let text = name::as_typed(&error.render().ansi().to_string());
        let written = match error.use_stderr() {
            true => anstream::stderr().write_all(text.as_bytes()),
            false => anstream::stdout().write_all(text.as_bytes()),
        };
        // As clap's own: help that nobody reads is no failure.
        written.ok();
        std::process::exit(error.exit_code())
    })
}

/// The operand of a command that passes on what only cargo knows.
const PASSED_ON: &str = "arguments";

/// Moves our options to the front of a command line of `bench` or another command that passes on options that only cargo
/// knows, and puts a `--` of our own before everything else. Behind the first of them clap would read none of ours, and it
/// would drop a `--` of the user's that comes first.
fn ours_first(cli: &clap::Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let command = words.get(1).and_then(|name| cli.find_subcommand(name));
    let passes_on = |it: &&clap::Command| {
        it.get_positionals().any(|it| it.get_id() == PASSED_ON && !it.is_last_set())
    };
    let Some(command) = command.filter(passes_on) else { return words };
    let rest = words.split_off(2);
    let is_ours = |it: &Word<'_, OsString>| {
        let takes = |option: &Arg| it.joined.is_none() || option.get_action().takes_values();
        it.option.is_some_and(takes) || matches!(it.written, "-h" | "--help")
    };
    let (ours, passed_on): (Vec<_>, Vec<_>) = flag::words_of(command, &rest).partition(is_ours);
    words.extend(ours.iter().flat_map(|it| it.words).cloned());
    if !passed_on.is_empty() {
        words.push("--".into());
        words.extend(passed_on.iter().flat_map(|it| it.words).cloned());
    }
    words
}

#[cfg(test)]
#[path = "cli_tests.rs"]
pub mod tests;
