//! The command line.

mod commands;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::schema::Schema;
use crate::write::Writer;
use crate::{aa, calibration, compare, kernels, output, planned, validate};
use source::Source;

/// Turn what `cargo bench` left into tables and files
///
/// Reads criterion's estimates (target/criterion) and the benchmarks' own records beside them
/// (target/criterion-torch), joins them, compares every candidate with the baseline of its group,
/// and writes the result in one of several formats. Nothing is measured and libtorch is not
/// needed.
///
/// Exit codes: 0 fine; 1 a gate failed (`--strict`, `--fail-on`); 2 wrong usage, or input that cannot
/// be read: each file or line is named, and the rest is reported all the same. Where both are so, it
/// is 2.
#[derive(Debug, Parser)]
#[command(name = "criterion-report", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    source: Source,
    #[command(subcommand)]
    command: Command,
}
#[derive(Debug, Subcommand)]
enum Command {
    /// Validate configs and print what they expand to; nothing is measured, no libtorch needed
    ///
    /// All errors of all files are printed at once, each with its place and its remedy, and the
    /// exit code is 2. Times and memory are estimates. Of the common options, --filter and
    /// --output apply.
    Plan {
        /// Config files
        #[arg(required = true, value_name = "CONFIG")]
        configs: Vec<PathBuf>,
        /// A table for people, or a JSON array with one object per case
        #[arg(long, value_enum, default_value = "table")]
        format: planned::Format,
    },
    /// Make the profile of a machine: peaks, bandwidths, roofline, and what fusing is worth on it
    ///
    /// Reads what `cargo bench --bench calibration` and `--bench fusion` recorded, prints a
    /// summary, and writes the profile to --output if that is given: JSON in the schema of
    /// branes-ai/graphs' calibrations, whose loader reads it, with our own fields behind. Peaks are
    /// the best that was measured, unless a preset or the user names others, which is said. The
    /// ridge point, peak over bandwidth of memory, decides what limits an operation. `efficiency`
    /// of a product is its share of the peak, of a bandwidth its share of that of the level of
    /// memory in which its arrays lie, which stands in the column `bound`; above 100 % the peak is
    /// wrong, and marked. Speed-ups of fusion have their interval, and a benefit where it lies
    /// inside one of upstream's bands: strong from 1.5, moderate from 1.1, minimal from 0.95,
    /// slower below.
    Calibration(Box<calibration::Options>),
    /// Write a folder of reports on kernels of one's own, and compare them with another time
    ///
    /// Reads what `cargo bench --bench kernels` recorded, and writes `env.json`,
    /// `kernel_manifest.json`, `kernels/<name>.json`, `summary.json` and `summary.md`; with
    /// --compare-to also `regressions.md` and `regressions.json`. Every case is in them, measured or
    /// not, with the reason. `timing` is of single calls, `criterion` the median of a step with its
    /// interval; memory is in MiB, energy per step.
    ///
    /// A time is worse than it was where the ratio of the two medians is above 1 plus the threshold
    /// and its whole 95 % interval above 1, better where that holds the other way round, and
    /// inconclusive where the interval includes 1. An error is worse where the relative error grew
    /// by more than the threshold; where the reference is zero all over, the RMSE. What was measured
    /// and fails now is worse, too. Of other machines nothing is compared.
    ///
    /// Exit codes: 0 fine; 1 a gate of --fail-on (or --strict) failed, its cases on stderr; 2 wrong
    /// usage, or input that cannot be read, of this run, of --compare-to or of --history: each file
    /// is named, the rest is written, and the gates' cases are said all the same.
    Kernels(Box<kernels::Options>),
    /// Compare two baselines: what regressed, improved or stayed, and what noise leaves open
    ///
    /// A side is the name given to `--save-baseline` (with all its runs `NAME@1`, `NAME@2` and so
    /// on, as `cargo xtask bench --repeat N` saves them), or a folder: criterion's of another checkout
    /// (target/criterion, or its target), of which --baseline says which results, or an earlier
    /// --output-dir of `kernels`; or a file of `export json`, `export jsonl` or `critcmp --export`, of
    /// which the last holds times alone. A name that has records comes before a path. Compared are
    /// time, peak memory, error and energy of each case; a case has the worst verdict of its measures.
    ///
    /// By the default policy a time is regressed where B over A is above 1 plus the threshold, its
    /// whole 95 % interval above 1, and the rank-sum test over the runs, adjusted by Holm's method
    /// for all cases compared, below 5 %. improved is the mirror image, equivalent an interval within
    /// the threshold of 1, and everything else inconclusive, with what would decide it. A threshold is
    /// no more than it says: a case that is slower by just that much is called regressed about every
    /// other time.
    ///
    /// With one run on a side, the interval is widened by the noise between runs that
    /// `criterion-report aa` found on this machine, else by an assumed one of ±25 %, and the adjusted p
    /// has to be below 1 %.
    ///
    /// Memory is counted, not timed: there the threshold alone decides. So it does for errors, of which
    /// the relative one is compared, or the RMSE where the reference is zero. What A measured and B
    /// fails at is regressed; what has no result or no time in B is missing; what B was not asked for
    /// is not compared.
    ///
    /// Results of two machines (processor, CPUs, GiB of memory, GPU) are refused.
    ///
    /// Exit codes: 0 fine; 1 a gate of --fail-on failed, its cases on stderr; 2 wrong usage, two
    /// machines, or input that cannot be read. Where 1 and 2 both apply it is 2.
    Compare(Box<compare::Options>),
    /// Measure how far runs of one revision lie apart: the noise floor that `compare` reads
    ///
    /// Takes all runs of a name, as `cargo xtask bench --repeat 8 -- --save-baseline NAME` leaves
    /// them, all of one clean git revision and one machine. Per case: `σ`, the standard deviation of
    /// ln(median) between runs; `spread`, the slowest median over the fastest; and in how many of
    /// all pairs of single runs `compare` would call the case regressed or improved, by the noise
    /// within runs alone (`changed`), and widened by the floor of the profile that these runs
    /// and earlier ones make (`widened`). Below stands the pooled σ, the 90 % quantile over the cases,
    /// which is for cases that the profile does not know.
    ///
    /// The profile is written to `noise.json` beside the records, or to --output. Cases of earlier
    /// profiles stay in it until they are measured again.
    Aa(aa::Options),
    /// Check files for the PyTorch OSS benchmark database, ours or anyone's, before they are uploaded
    ///
    /// The uploader, the database and the dashboards lose or change records in silence. Each such
    /// trap is an error or a warning here, with its place (record from 0, JSON pointer), what
    /// happens upstream, and the remedy. Lists, single objects and lines of objects or lists are
    /// read, as the uploader does. All files are taken as those of one upload: their names and
    /// series must not repeat. With --strict warnings count as errors.
    ///
    /// Exit codes: 0 fine; 1 a file has an error; 2 a file cannot be read, or it or a line of it is no
    /// JSON; the rest is checked.
    Validate(validate::Options),
    /// Print the JSON Schema of a file that is written
    Schema {
        /// Which file
        #[arg(value_enum, default_value = "report")]
        name: Schema,
    },
    #[command(flatten)]
    Write(Writer),
}

/// Results of the latest run, under whichever name they are saved besides.
const NEW: &str = "new";
/// A gate failed: something that was asked for is not as it should be.
const GATE_FAILED: u8 = 1;
/// Wrong usage or unreadable input; clap's own code too.
const UNUSABLE: u8 = 2;

pub fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            output::tell(&format!("error: {error:#}"));
            ExitCode::from(UNUSABLE)
        }
    }
}

impl Cli {
    fn run(self) -> Result<ExitCode> {
        match self.command {
            Command::Plan { configs, format } => self.source.plan(&configs, format),
            Command::Calibration(options) => self.source.calibration(&options),
            Command::Kernels(options) => self.source.kernels(&options),
            Command::Compare(options) => self.source.compare(&options),
            Command::Aa(options) => self.source.aa(&options),
            Command::Validate(options) => self.source.validate(&options),
            Command::Schema { name } => {
                self.source.nothing_of_results("`schema` prints a schema", false)?;
                output::put(&name.text(), self.source.output.as_deref())?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Write(writer) => match writer.help() {
                Some(text) => {
                    output::put(&text, self.source.output.as_deref())?;
                    Ok(ExitCode::SUCCESS)
                }
                None => self.source.write(&writer),
            },
        }
    }
}
