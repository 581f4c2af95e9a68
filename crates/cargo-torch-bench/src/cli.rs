//! The command line.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::bench_arguments::runs;
use crate::name;
use crate::torchao::Comparison;
use crate::{cache_report, compare_branches, gpu_check, kernels, published, setup};

/// Provision libtorch, then run the plain cargo command
///
/// After any of setup, bench, kernels and test, plain `cargo bench`, `cargo bench -- int8wo` and
/// `cargo test` work too, with no variable set.
///
/// Exit codes: 0 fine; 1 something is missing or failed; 2 a wrong command line. bench, kernels and
/// test end with the code of the first command that failed.
#[derive(Debug, PartialEq, Eq, Parser)]
#[command(bin_name = name::ALIAS, max_term_width = 100, after_help = EXAMPLES)]
// An alias gives options, and the user may give them again.
#[command(args_override_self = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask bench                              a tour, and what pays here
  cargo xtask bench -- int8wo                    cases whose id contains int8wo
  cargo xtask bench --bench inference -- --list  the ids of one target";

#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Provision libtorch 2.11.0 and link it as .libtorch
    ///
    /// Takes torch's wheel from the Python package index with python3's pip, once per user, and links it
    /// into this clone. If that was done already, nothing is done. It may be interrupted, or run twice
    /// at once: nothing half-installed is linked. If .libtorch led elsewhere before, the next build
    /// compiles tch's C++ again.
    ///
    /// Without --cpu and --cuda it keeps what .libtorch leads to, if that is a whole libtorch 2.11.0.
    /// Otherwise it takes cuda if an NVIDIA driver is found, and cpu if not.
    #[command(after_long_help = SETUP)]
    Setup(setup::Options),
    /// Run setup and a tour of the benchmarks, then say what pays on this machine
    ///
    /// Without arguments it is a tour of some 90 seconds: of every kind of work some cases
    /// (configs/suites/tour). With arguments, BENCH_CONFIG or --full it is `cargo bench` with its default
    /// suites, some five minutes.
    ///
    /// When the run came to its end, even with failed cases, one screen says what the results say
    /// (`cargo criterion-report summary`), and report.html is written beside the records. With --list,
    /// --test, --no-run, --help or --profile-time, and if nothing could be measured, there is neither.
    #[command(after_long_help = BENCH)]
    Bench {
        /// Build once and measure in N runs, each a process of its own; stands before `--`
        ///
        /// The interval of one run does not show how far off the next one would be.
        ///
        /// Results are kept as main@1 to main@N with `-- --save-baseline main`, otherwise as base@1 to
        /// base@N. A side of `cargo criterion-report compare main pr` is all runs of a name, and
        /// `cargo criterion-report aa main` shows how far they lie apart.
        ///
        /// Earlier runs under that name are removed first, with a FILTER also those of cases that
        /// it skips: a name is one set of runs. Choose another name to keep both.
        ///
        /// It takes N times as long as one run: 8 runs of the default suites take more than an
        /// hour. stderr shows how much is left. A run that fails ends the command with its exit code,
        /// and what was measured is kept; so it is after Ctrl-C. Failed cases are kept as such, the
        /// runs go on, and the exit code is 1.
        ///
        /// No report follows. --test, --list, --profile-time, --no-run and the other options for
        /// baselines are refused. Sources that change meanwhile are noticed, and end it.
        // Else clap would find fault with the next word, not with this option.
        #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = runs)]
        repeat: Option<u64>,
        /// Run all default suites, not the tour
        #[arg(long)]
        full: bool,
        /// Print what criterion prints, which otherwise goes to bench.log beside the records
        #[arg(long)]
        verbose: bool,
        /// Passed on to `cargo bench` as they are, and after `--` to criterion
        arguments: Vec<OsString>,
    },
    /// Build and measure two revisions in turn, then compare them
    ///
    /// Is B slower than A? Both are built, then measured in turn, A B B A and so on, in runs of
    /// their own, then compared: `cargo criterion-report compare A B`.
    ///
    /// It takes 16 times as long as one `cargo bench` with that filter, and a build for each commit that
    /// is new here, of everything for the first one: two hours and more for the default suites, some
    /// minutes for a dozen small cases. So give a filter. stderr shows how much is left; stdout has the
    /// comparison alone.
    ///
    /// Commits are checked out and built in target/compare/<commit>, which is kept for the next time,
    /// some 2 GB each. A new commit is checked out in the worktree of an earlier comparison, if there is one,
    /// so that only this project's own crates are compiled. The dot is built where it lies: leave its sources
    /// alone until the end; changes are noticed, and end the comparison.
    ///
    /// Runs are kept as A@1, B@1, B@2 and so on in this clone's target/criterion, under the names of
    /// the revisions (feature/x as feature-x), and replace earlier ones of these names. Both sides use
    /// this toolchain and this clone's libtorch. A relative path in BENCH_CONFIG is each side's own file.
    ///
    /// Failed cases are kept as such. Any other failure ends the comparison, and so does Ctrl-C:
    /// runs until then are kept, and the next comparison replaces them. Only one comparison runs at
    /// a time: a second one names the process that measures, and ends.
    ///
    /// Exit codes are those of the comparison: 0 fine; 1 what --fail-on names was found; 2 a mistake, or
    /// another process measures here. If a cargo command failed, it is named with its folder, and its
    /// exit code is this one's.
    #[command(override_usage = COMPARE_BRANCHES_USAGE, after_long_help = COMPARE_BRANCHES)]
    CompareBranches(compare_branches::Options),
    /// Run setup, measure your kernels in benches/kernels, and write their report
    ///
    /// Every kernel under benches/kernels is found, built, checked against its reference and measured;
    /// one file is enough for one, and nothing is registered. Then the report is written:
    /// reports/summary.md for people, summary.json, env.json, kernel_manifest.json and
    /// kernels/<name>.json for programs.
    ///
    /// --iters, --warmup, --precision, --backends and --seed win over every bench.yaml; without them
    /// each kernel's own settings stay. They hold in configs/kernels/*.yml. BENCH_CONFIG
    /// names other configs instead, which these options do not override.
    ///
    /// If an option is given twice the last one counts, so aliases take options, too.
    ///
    /// Exit codes: 0 fine; 1 a case failed or the run died (the report is written), or what --fail-on
    /// names was found; 2 a mistake on the command line, in a config, a bench.yaml or a kernel's file,
    /// with its place, and then nothing was measured.
    #[command(after_long_help = KERNELS)]
    Kernels(kernels::Options),
    /// Run setup, then cargo test --workspace
    ///
    /// Skips the tests that take long. Every test that did not run is listed
    /// at the end with the reason: it is long, or something is missing on this machine.
    #[command(after_long_help = TEST)]
    Test {
        /// Run the long tests, too: minutes of compilations; stands before `--`
        #[arg(long, conflicts_with = "exhaustive")]
        all: bool,
        /// Run the exhaustive tests, and no others; stands before `--`
        ///
        /// They try every float32, and every compiled variant: minutes each, one of them an hour. They
        /// are optimized, and need what `cargo xtask setup --python` brings.
        #[arg(long)]
        exhaustive: bool,
        /// Passed on to `cargo test` as they are, and after `--` to the test harness
        arguments: Vec<OsString>,
    },
    /// Measure what the documents publish, into docs/results
    ///
    /// Each result is measured by the commands that its files name, with results of its own in
    /// target/results, and written to docs/results/<machine>: first `# key: value` lines with machine,
    /// commit, date, how quiet it was and the commands, then what the last command printed. The picture
    /// of a page needs chromium. The book includes these files.
    ///
    /// Uncommitted changes are refused, apart from documents: a result names its commit. Run it on a
    /// quiet machine.
    Results(published::Options),
    /// Measure our times against torchao 0.17.0's own, in turn
    ///
    /// Both sides run the same recipe, model, shape, dtype, threads and allocator, in turn, in one run.
    /// An eager case is compared with eager torchao, a compiled one with torch.compile of torchao's
    /// model in the same mode; neither compiles while it is timed. Prints a table of both times and of
    /// ours over torchao's with its 95 % interval. Cases that one of the two does not run stand below it
    /// with the reason.
    ///
    /// Each pair takes batches of 30 ms until its interval is as narrow as the config's
    /// `sampling.target` asks (1 % by default), or `sampling.measurement_s` (4) is over. If its ratio is
    /// above 1.05 then but the interval is not, it goes on for up to three times as long. Run it on a
    /// quiet machine.
    ///
    /// Exit codes: 0 fine; 1 a ratio is above 1.05, or a case failed.
    #[command(after_long_help = COMPARE_TORCHAO)]
    CompareTorchao(Comparison),
    /// Print the libtorch that setup chooses here: cpu or cuda
    ///
    /// It is that of LIBTORCH; else that of the libtorch that .libtorch leads to; else cuda if an NVIDIA
    /// driver is found, and cpu if not. Nothing is provisioned or linked: a CI job asks for it before
    /// it restores a build, which serves one of the two alone.
    Flavour,
    /// Print the path of the Python that compiles
    ///
    /// It is the one that CRITERION_TORCH_PYTHON names; else the one of `cargo xtask setup --python`;
    /// else python3 of the PATH. It compiles variants with use_torch_compile and Triton kernels;
    /// `cargo xtask doctor` shows whether it has what that takes.
    Python,
    /// Show what is provisioned and compiled here, and remove what was compiled
    ///
    /// JSON has sizes in bytes on disk, and times in seconds since 1970.
    #[command(after_long_help = CACHE)]
    Cache(cache_report::Options),
    /// Show what this machine has, and what to do about each gap
    ///
    /// Looks at the toolchain, python, libtorch, CUDA, the processor, what torch.compile takes and the
    /// cache, changes nothing, and ends with 0 if everything that is needed is there, else with 1.
    #[command(after_long_help = DOCTOR)]
    Doctor,
    /// Prove everything about a GPU on this one, and write it into one page
    ///
    /// Takes one step after the other, even if one before it failed: the doctor; clocks, events, hidden
    /// launches, cache flush and memory counters; every CUDA and Triton kernel, recipe, pattern and
    /// compiled variant against float64; the same kernels under compute-sanitizer, if it is installed;
    /// power and board by NVML; bandwidth and products against the vendor's figures; an illegal access
    /// and memory that runs out, on purpose.
    ///
    /// The page shows for each step what was expected and what was found; the file has every record and
    /// log besides. Both go without names of host and user and without folders of this machine, so that
    /// they can be attached to a bug report as they are. Without a GPU every step but the doctor's is
    /// skipped, with its reason. Nothing else should run on the GPU meanwhile.
    ///
    /// Exit codes: 0 no step failed; 1 one did; 2 a wrong command line.
    GpuCheck(gpu_check::Request),
}

const SETUP: &str = "\
Variables:
  LIBTORCH                a libtorch 2.11.0 of your own: none is provisioned
  CRITERION_TORCH_CACHE   where it goes; else $XDG_CACHE_HOME/criterion-torch, else
                          ~/.cache/criterion-torch
  CRITERION_TORCH_PYTHON  a Python of your own that compiles: it has torch 2.11.0, and triton 3.6.0
                          on Linux; --python is not needed then
pip's configuration applies, such as PIP_INDEX_URL and PIP_PROXY.";

const BENCH: &str = "\
Examples:
  cargo xtask bench                            a tour of 90 seconds
  cargo xtask bench --full                     all default suites
  cargo xtask bench -- int8wo                  cases whose id contains int8wo
  cargo xtask bench -- --save-baseline main    keep the results under a name
  BENCH_CONFIG=my.yml cargo xtask bench        other configs than configs/
  cargo xtask bench --repeat 8 -- --save-baseline main int8wo
See also: cargo bench --help; cargo bench --bench inference -- --help";

const COMPARE_BRANCHES_USAGE: &str = "\
cargo xtask compare-branches [OPTIONS] <A> <B> [-- FILTER and criterion's options]
       cargo xtask compare-branches --clean";

const COMPARE_BRANCHES: &str = "\
Examples:
  cargo xtask compare-branches main . -- int8wo/bf16-1x4096
  cargo xtask compare-branches v0.1 main --bench inference --fail-on regression
  cargo xtask compare-branches main main --runs 10     A/A: how noisy is it here?
  cargo xtask compare-branches --clean                     remove all worktrees";

const KERNELS: &str = "\
Examples:
  cargo xtask kernels                                  all, with their own settings
  cargo xtask kernels --iters 30 --precision fp32,fp16 poisson
  cargo xtask kernels --save-baseline main             on main, and on a branch
  cargo xtask kernels --compare-to main --fail-on regression
  cargo bench-quick                                    10 iterations after 2
  cargo bench-full                                     30 iterations after 3";

const TEST: &str = "\
Examples:
  cargo xtask test                             every test of the workspace that is not long
  cargo xtask test --all                       the long ones, too
  cargo xtask test expand -- --nocapture       tests whose name contains expand
  cargo xtask test --exhaustive                every float32, every compiled variant
  cargo xtask test --exhaustive exp_is         one of them
See also: cargo test --help";

const COMPARE_TORCHAO: &str = "\
Examples:
  cargo xtask compare-torchao configs/suites/recipes-cpu.yml
  cargo xtask compare-torchao configs/suites/recipes-cpu.yml --filter '/int8wo/.*-1x'
  cargo xtask compare-torchao configs/suites/compile-cpu.yml --filter '\\+'";

const CACHE: &str = "\
Variables:
  CRITERION_TORCH_CACHE        the folder; else $XDG_CACHE_HOME/criterion-torch, else
                               ~/.cache/criterion-torch
  CRITERION_TORCH_COMPILED_MB  the bound of all packages together, in MiB (4096): beyond it, the
                               packages that were used longest ago are removed";

const DOCTOR: &str = "\
Each line is marked:
  ok        there
  warning   works without, though less well; the line below says what to do
  missing   needed; the line below says what to do
  skipped   not looked at, with the reason

A program that is asked and does not answer within 20 s is killed, and the line says so;
CRITERION_TORCH_ASK_S is another limit, in seconds.";

impl Cli {
    /// Reads words, the program's name first.
    pub fn parsed(words: Vec<OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(ours_first(words))
    }

    /// The command line of this process. Help and mistakes end it.
    pub fn read() -> Self {
        Self::parsed(name::settle(std::env::args_os().collect())).unwrap_or_else(|error| {
            let text = name::as_typed(&error.render().ansi().to_string());
            if error.use_stderr() {
                anstream::eprint!("{text}")
            } else {
                anstream::print!("{text}")
            }
            std::process::exit(error.exit_code())
        })
    }
}

/// Moves our options to the front of a command line of `bench` or `test`, and puts a `--` of our own
/// before everything else. These commands pass on options that only cargo knows: behind the first of
/// them clap would read none of ours, and it would drop a `--` of the user's that comes first.
fn ours_first(mut words: Vec<OsString>) -> Vec<OsString> {
    let command = words.get(1).and_then(|command| command.to_str());
    // Each with whether a value follows.
    let ours: &[(&str, bool)] = match command {
        Some("bench") => &[("--repeat", true), ("--full", false), ("--verbose", false)],
        Some("test") => &[("--all", false), ("--exhaustive", false)],
        _ => return words,
    };
    let mut rest = words.split_off(2).into_iter();
    let mut passed_on = Vec::new();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy().into_owned();
        let (name, value) = text.split_once('=').map_or((&*text, None), |(n, v)| (n, Some(v)));
        match ours.iter().find(|(own, has_value)| *own == name && (value.is_none() || *has_value)) {
            _ if text == "--" => {
                passed_on.push(word);
                passed_on.extend(rest.by_ref());
            }
            Some((_, has_value)) => {
                words.push(word);
                words.extend((*has_value && value.is_none()).then(|| rest.next()).flatten());
            }
            None if matches!(&*text, "-h" | "--help") => words.push(word),
            None => passed_on.push(word),
        }
    }
    if !passed_on.is_empty() {
        words.push("--".into());
        words.extend(passed_on);
    }
    words
}

#[cfg(test)]
#[path = "cli_tests.rs"]
pub mod tests;
