//! The command line.

pub mod calibration;
mod commands;
pub mod compare;
pub mod kernels;
pub mod planned;
pub mod schema;
mod source;
pub mod validate;
pub mod writer;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::cli::schema::Schema;
use crate::cli::writer::Writer;
use crate::render::words::more;
use crate::views::recommend;
use crate::{merge, output};
use source::Source;

/// Turn what `cargo bench` left into tables and files
///
/// Reads criterion's estimates (target/criterion) and the records beside them
/// (target/criterion-torch), compares every candidate with the baseline of its group, and writes
/// the result. Nothing is measured, and libtorch is not needed.
///
/// Exit codes: 0 fine; 1 a gate failed (--strict, --fail-on); 2 wrong usage, or unreadable input:
/// each file or line is named, and the rest is reported all the same. Where 1 and 2 both apply it
/// is 2.
#[derive(Debug, Parser)]
#[command(after_long_help = more!("criterion-report show --filter int8wo", "reports/README.md"))]
#[command(name = NAME, version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    source: Source,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Validate configs and print the cases they expand to; nothing is measured
    ///
    /// All errors of all files are printed at once, each with its place and its remedy, and the
    /// exit code is 2. Times and memory are estimates; times are learnt from the latest records in
    /// the folder of results, and the last line says what they rest on. Of the common options, only
    /// --filter, --criterion-dir and --output apply.
    #[command(after_long_help = more!(
        "criterion-report plan configs/inference/default.yml",
        "configs/README.md"
    ))]
    Plan(planned::Options),
    /// Print the profile of a machine: peaks, bandwidths, roofline, and what fusing gains
    ///
    /// Reads what `cargo bench --bench calibration` and `--bench fusion` recorded, prints a
    /// summary, and writes the whole profile to --output as JSON.
    #[command(after_long_help = more!(
        "criterion-report calibration --hardware my-server --output my-server.json",
        "reports/calibration.md"
    ))]
    Calibration(Box<calibration::Options>),
    /// Recommend a recipe for each linear layer of a model, from what was measured
    ///
    /// Answers the last question of `cargo torch-bench recommend`, which lies among the records with what the
    /// model consists of and what is wanted. With --output FOLDER it also writes the answer as
    /// recommendation.json, as a page, recommendation.html, as recommendation.py for torchao 0.17, as
    /// recommendation.yml, a config, and for llm-compressor and ModelOpt.
    #[command(after_long_help = more!(
        "criterion-report recommend --format markdown",
        "reports/recommend.md"
    ))]
    Recommend(recommend::Options),
    /// Write a folder of reports about your kernels and compare them with an earlier run
    ///
    /// Reads what `cargo bench --bench kernels` recorded. --compare-to adds what regressed or
    /// improved.
    ///
    /// Exit codes: 0 fine; 1 a gate of --fail-on or --strict failed; 2 wrong usage, or unreadable
    /// input: the rest is written all the same.
    #[command(after_long_help = more!(
        "criterion-report kernels --compare-to main --fail-on regression",
        "reports/kernels.md"
    ))]
    Kernels(Box<kernels::Options>),
    /// Compare two baselines: which cases regressed, improved or stayed the same
    ///
    /// A side is a name given to --save-baseline, with all its runs NAME@1, NAME@2 and so on; or a
    /// folder: criterion's of another checkout, or an earlier --output-dir of `kernels`; or a file
    /// of `export json`, `export jsonl` or `critcmp --export`. A name that has records comes before
    /// a path. Results of two machines are refused.
    ///
    /// Exit codes: 0 fine; 1 a gate of --fail-on failed, its cases on stderr; 2 wrong usage, two
    /// machines, or unreadable input. Where 1 and 2 both apply it is 2.
    #[command(after_long_help = more!(
        "criterion-report compare main pr --fail-on regression",
        "comparing.md"
    ))]
    Compare(Box<compare::Options>),
    /// Measure how far runs of one revision lie apart: the noise floor that `compare` reads
    ///
    /// Takes all runs of a name, of one clean git revision and one machine. The profile is written
    /// to `noise.json` beside the records, or to --output.
    #[command(after_long_help = more!("criterion-report aa main", "comparing.md"))]
    Aa(compare::AaOptions),
    /// Merge results of several machines into one folder, and prove that a plan is complete
    ///
    /// Every planned case is merged exactly once. Shards and cases without a record are named, as are
    /// records of cases that are not planned. Of several records of a case, a measured one counts before
    /// all others, then the latest; the dropped ones are named. Each row keeps its machine, and each machine
    /// its calibration. Of the common options, only --baseline, --filter and --output apply.
    ///
    /// Exit codes: 0 the plan is complete; 1 planned cases are missing; 2 wrong usage, or unreadable
    /// input: the rest is merged all the same. Where 1 and 2 both apply it is 2.
    #[command(after_long_help = more!(
        "criterion-report merge shards/1 shards/2 --plan plan.json --output merged",
        "scale/merge.md"
    ))]
    Merge(merge::Options),
    /// Check files for the PyTorch OSS benchmark database before they are uploaded
    ///
    /// The uploader, the database and the dashboards lose or change some records in silence. Each
    /// such trap is an error or a warning here, with its place (record from 0, JSON pointer) and
    /// its remedy. All files are checked as one upload: their names and series must not repeat.
    /// With --strict, warnings count as errors.
    ///
    /// Exit codes: 0 fine; 1 a file has an error; 2 a file cannot be read or is not JSON; the rest
    /// is checked.
    #[command(after_long_help = more!(
        "criterion-report validate results.json",
        "exports/dashboard.md"
    ))]
    Validate(validate::Options),
    /// Print the JSON Schema of a file that this program writes
    #[command(after_long_help = more!("criterion-report schema compare", "exports/json.md"))]
    Schema {
        /// Which file
        #[arg(value_enum, default_value = "report")]
        name: Schema,
    },
    #[command(flatten)]
    Write(Writer),
}

const NAME: &str = "criterion-report";
/// Results of the latest run, under whichever name they are saved besides.
const NEW: &str = "new";
/// A gate failed: something that was asked for is not as it should be.
const GATE_FAILED: u8 = 1;
/// Wrong usage or unreadable input; clap's own code too.
const UNUSABLE: u8 = 2;

pub fn main() -> ExitCode {
    match Cli::parse_from(words(std::env::args_os())).run() {
        Ok(code) => code,
        Err(error) => {
            output::tell(&format!("error: {error:#}"));
            ExitCode::from(UNUSABLE)
        }
    }
}

/// A command line without the name that cargo passes on to its `cargo-criterion-report`.
fn words(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = all.collect();
    if words.get(1).is_some_and(|word| word == NAME) {
        words.remove(1);
    }
    words
}

impl Cli {
    fn run(self) -> Result<ExitCode> {
        // This thread works, too, and does not only wait for others.
        rayon::ThreadPoolBuilder::new().use_current_thread().build_global()?;
        match self.command {
            Command::Plan(options) => self.source.plan(&options),
            Command::Calibration(options) => self.source.calibration(&options),
            Command::Recommend(options) => self.source.recommend(&options),
            Command::Kernels(options) => self.source.kernels(&options),
            Command::Compare(options) => self.source.compare(&options),
            Command::Aa(options) => self.source.aa(&options),
            Command::Merge(options) => self.source.merge(&options),
            Command::Validate(options) => self.source.validate(&options),
            Command::Schema { name } => {
                self.source.nothing_of_results("`schema` prints a schema", false)?;
                output::put(name.text(), self.source.output.as_deref())?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Write(Writer::Csv(options)) if options.torchao_output.is_some() => {
                self.source.torchao_output(&options)
            }
            Command::Write(writer) => match writer.help() {
                Some(text) => {
                    output::put(&text, self.source.output.as_deref())?;
                    Ok(ExitCode::SUCCESS)
                }
                None => self.source.narrowed(writer.filter())?.write(&writer),
            },
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/common/help.rs"]
mod help;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn cargo_passes_the_name_on() {
        for (line, rest) in [
            ("criterion-report show", &["show"][..]),
            ("cargo-criterion-report criterion-report show", &["show"]),
            ("criterion-report show criterion-report", &["show", "criterion-report"]),
            ("cargo-criterion-report", &[]),
        ] {
            let found = words(line.split(' ').map(OsString::from));
            assert_eq!(found[1..], *rest, "{line}");
        }
    }

    #[test]
    fn help_fits_on_a_screen_and_its_examples_are_understood() {
        for example in help::examples(Cli::command(), help::COLUMNS, str::to_owned) {
            let parsed = Cli::try_parse_from(example.split_whitespace());
            assert!(parsed.is_ok(), "{example}: {parsed:?}");
        }
    }
}
