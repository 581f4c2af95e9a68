//! The command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{ColorChoice, Parser, Subcommand};
use regex::Regex;

use crate::model::calibration::Profile;
use crate::model::compare::Remarks;
use crate::model::database::Severity;
use crate::model::{Exported, Inputs, Location, Report, Selection};
use crate::schema::Schema;
use crate::write::{self, Target, Writer};
use crate::{aa, calibration, compare, kernels, output, planned, units, validate};

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

/// Arguments of every command.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Options of every command")]
struct Source {
    /// Criterion's folder; the records lie in `criterion-torch` beside it
    ///
    /// By default $CRITERION_HOME, else $CARGO_TARGET_DIR/criterion, else target/criterion of the
    /// nearest folder upwards that has a Cargo.lock or a target folder. It may be a link; links to
    /// folders inside it are not followed, and named as errors.
    #[arg(long, global = true, value_name = "DIR")]
    criterion_dir: Option<PathBuf>,
    /// Results of another place: a file of `export json` or `export jsonl` instead of folders
    #[arg(long, global = true, value_name = "FILE", conflicts_with_all = ["criterion_dir", "baseline"])]
    from: Option<PathBuf>,
    /// Which results: the name given to `--save-baseline`, or `new` for the latest
    #[arg(long, global = true, value_name = "NAME", default_value = NEW)]
    baseline: String,
    /// Only cases whose full id matches, e.g. `int8wo`, `/cuda`, `1024x1024x1024`
    ///
    /// Cases left out still serve as baselines of those shown.
    #[arg(long, global = true, value_name = "REGEX")]
    filter: Option<Regex>,
    /// File to write instead of standard output; it is replaced only when complete
    #[arg(long, short, global = true, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only cases that the latest run of their bench target selected
    ///
    /// Results stay on disk until their case is measured again, so without this option those of
    /// removed configs and shapes and of older commits are among today's. A run that selected
    /// nothing does not count; of a bench target without a run manifest all cases are taken. Cases
    /// left out still serve as baselines of those shown.
    #[arg(long, global = true)]
    latest: bool,
    /// Exit with 1 when a case has no time from the last run that selected it
    ///
    /// That is: it failed or was skipped, criterion's estimate of it is stale or absent, or that
    /// run ended before it. Every case is looked at that has a record or was selected by a run and
    /// that --filter lets through, whichever run it is of; with --latest only those that the
    /// latest run of their bench target selected. A run that selected nothing is ignored. The
    /// output is written all the same.
    #[arg(long, global = true)]
    strict: bool,
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
    /// A side is the name given to `--save-baseline` (with all its launches `NAME@1`, `NAME@2` and so
    /// on, as `cargo xtask bench --repeat N` saves them), or a folder: criterion's of another checkout
    /// (target/criterion, or its target), of which --baseline says which results, or an earlier
    /// --output-dir of `kernels`; or a file of `export json`, `export jsonl` or `critcmp --export`, of
    /// which the last holds times alone. A name that has records comes before a path. Compared are
    /// time, peak memory, error and energy of each case; a case has the worst verdict of its measures.
    ///
    /// By the default policy a time is regressed where B over A is above 1 plus the threshold, its
    /// whole 95 % interval above 1, and the rank-sum test over the launches, adjusted by Holm's method
    /// for all cases compared, below 5 %. improved is the mirror image, equivalent an interval within
    /// the threshold of 1, and everything else inconclusive, with what would decide it. A threshold is
    /// no more than it says: a case that is slower by just that much is called regressed about every
    /// other time.
    ///
    /// With one launch on a side, the interval is widened by the noise between launches that
    /// `criterion-report aa` found on this machine, else by an assumed one of ±25 %, and the adjusted p
    /// has to be below 1 %.
    ///
    /// Memory is counted, not timed: there the threshold alone decides. So it does for errors, of which
    /// the relative one is compared, or the RMSE where the reference is zero. What A measured and B
    /// fails at is regressed; what B was not asked for is not compared.
    ///
    /// Results of two machines (processor, CPUs, GiB of memory, GPU) are refused.
    ///
    /// Exit codes: 0 fine; 1 a gate of --fail-on failed, its cases on stderr; 2 wrong usage, two
    /// machines, or input that cannot be read.
    Compare(Box<compare::Options>),
    /// Measure how far launches of one revision lie apart: the noise floor that `compare` reads
    ///
    /// Takes all launches of a name, as `cargo xtask bench --repeat 8 -- --save-baseline NAME` leaves
    /// them, all of one clean git revision and one machine. Per case: `σ`, the standard deviation of
    /// ln(median) between launches; `spread`, the slowest median over the fastest; and in how many of
    /// all pairs of single launches `compare` would call the case regressed or improved, by the noise
    /// within launches alone (`changed`), and widened by the floor (`widened`). Below stands the
    /// pooled σ, the 90 % quantile over the cases, which is for cases that the profile does not know.
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
    /// Exit codes: 0 fine; 1 a file has an error; 2 a file cannot be read, or is no JSON.
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

/// Runs the program; errors are printed here.
pub fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
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
                output::put(name.text(), self.source.output.as_deref())?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Write(writer) => self.source.write(&writer),
        }
    }
}

impl Source {
    fn plan(&self, configs: &[PathBuf], format: planned::Format) -> Result<ExitCode> {
        if self.strict {
            bail!("--strict asks for results; `plan` reads none");
        }
        if self.latest {
            bail!("--latest asks for results; `plan` reads none");
        }
        let plan = match plan::load(configs) {
            Ok(plan) => plan,
            Err(diagnostics) => {
                eprintln!("{diagnostics}");
                return Ok(ExitCode::from(UNUSABLE));
            }
        };
        let filter = self.filter.as_ref();
        let passes = |case: &&plan::Case| filter.is_none_or(|f| f.is_match(&case.full_id()));
        let cases: Vec<&plan::Case> = plan.cases().filter(passes).collect();
        if let (Some(filter), true) = (filter, cases.is_empty()) {
            bail!(
                "--filter {filter} matches none of {}",
                units::count(plan.cases().count(), "planned case")
            );
        }
        let colour = self.output.is_none() && output::colour_terminal();
        let text = planned::write(&cases, format, colour);
        output::put(&text, self.output.as_deref())?;
        Ok(ExitCode::SUCCESS)
    }

    fn validate(&self, options: &validate::Options) -> Result<ExitCode> {
        let of_results = Self { strict: false, ..self.clone() };
        of_results.nothing_of_results("`validate` checks the files that are given", false)?;
        let checked = options.run();
        output::put(&checked.text(), self.output.as_deref())?;
        checked.unreadable.iter().for_each(|why| eprintln!("error: {why}"));
        let fails = |severity| severity == Severity::Error || self.strict;
        let failed = checked.findings.iter().any(|finding| fails(finding.trap.severity()));
        Ok(if !checked.unreadable.is_empty() {
            ExitCode::from(UNUSABLE)
        } else if failed {
            ExitCode::from(GATE_FAILED)
        } else {
            ExitCode::SUCCESS
        })
    }

    fn calibration(&self, options: &calibration::Options) -> Result<ExitCode> {
        let colour = match options.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => output::colour_terminal(),
        };
        if options.list_presets {
            self.nothing_of_results("--list-presets prints the presets", false)?;
            let width = self.output.as_ref().map_or_else(output::terminal_width, |_| None);
            output::put(&calibration::presets(width, colour), self.output.as_deref())?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(file) = &options.load {
            self.nothing_of_results("--load prints a profile", true)?;
            let profile = Profile::load(file)?;
            let width = output::terminal_width();
            output::put(&write::calibration::write(&profile, width, colour), None)?;
            return Ok(ExitCode::SUCCESS);
        }
        let report = self.report(Some(calibration::MODES), &[])?;
        say(&report);
        let profile = options.profile(&report)?;
        if let Some(file) = &self.output {
            output::put(&calibration::json(&profile)?, Some(file))?;
        }
        let width = output::terminal_width();
        output::put(&write::calibration::write(&profile, width, colour), None)?;
        Ok(self.end(&report))
    }

    /// How a command ends that has written its output. What could not be read is no success.
    fn end(&self, report: &Report) -> ExitCode {
        let strict = if self.strict { strict(report) } else { ExitCode::SUCCESS };
        if report.unreadable.is_empty() { strict } else { ExitCode::from(UNUSABLE) }
    }

    /// That nothing was asked about results, which are not read.
    fn nothing_of_results(&self, what: &str, output: bool) -> Result<()> {
        let asked = [
            ("--strict", self.strict),
            ("--latest", self.latest),
            ("--filter", self.filter.is_some()),
            ("--baseline", self.baseline != NEW),
            ("--criterion-dir", self.criterion_dir.is_some()),
            ("--from", self.from.is_some()),
            ("--output", output && self.output.is_some()),
        ];
        let asked: Vec<&str> = asked.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        if asked.is_empty() {
            return Ok(());
        }
        bail!("{what} and reads no results: leave {} out", asked.join(", "))
    }

    fn kernels(&self, options: &kernels::Options) -> Result<ExitCode> {
        if self.output.is_some() {
            bail!("`kernels` writes a folder: use --output-dir instead of --output");
        }
        options.check()?;
        let report = self.report(Some(kernels::MODES), kernels::BESIDE)?;
        say(&report);
        write::earlier(&report).iter().for_each(|note| eprintln!("note: {note}"));
        let filter = self.filter.as_ref();
        let selection = Selection { modes: Some(kernels::MODES), filter, ..Selection::default() };
        let kernels::Ended { failed, unreadable } =
            options.run(&report, &self.location()?, selection)?;
        unreadable.iter().for_each(|line| eprintln!("error: {line}"));
        failed.iter().for_each(|gate| eprintln!("{gate}"));
        let end = self.end(&report);
        // What is compared with what could not be read has not passed, nor has it failed.
        let read = report.unreadable.is_empty() && unreadable.is_empty();
        Ok(match (read, failed.is_empty()) {
            (false, _) => ExitCode::from(UNUSABLE),
            (true, true) => end,
            (true, false) => ExitCode::from(GATE_FAILED),
        })
    }

    fn compare(&self, options: &compare::Options) -> Result<ExitCode> {
        if self.strict {
            bail!("--strict asks for one side; `compare` has --fail-on");
        }
        if self.from.is_some() {
            bail!("--from is one side; `compare` takes an exported file in the place of A or B");
        }
        let filter = self.filter.as_ref();
        let selection = Selection { filter, latest: self.latest, ..Selection::default() };
        let compare::Outcome { comparison, remarks, failed } =
            options.run(&self.location()?, &self.baseline, selection)?;
        say_remarks(&remarks);
        let file = self.output.as_deref();
        let look = write::compare::Look {
            all: options.shows_all(),
            colour: self.colour(options.color),
            width: file.map_or_else(output::terminal_width, |_| None),
        };
        output::stream(file, |out| write::compare::write(&comparison, options.format, look, out))?;
        failed.iter().for_each(|gate| eprintln!("{gate}"));
        Ok(match (failed.is_empty(), remarks.unreadable.is_empty()) {
            (false, _) => ExitCode::from(GATE_FAILED),
            (true, false) => ExitCode::from(UNUSABLE),
            (true, true) => ExitCode::SUCCESS,
        })
    }

    fn aa(&self, options: &aa::Options) -> Result<ExitCode> {
        if self.strict {
            bail!("--strict asks for results as they are; `aa` compares them with each other");
        }
        if self.from.is_some() {
            bail!("--from is one launch; `aa` takes the name of several");
        }
        let filter = self.filter.as_ref();
        let selection = Selection { filter, latest: self.latest, ..Selection::default() };
        let (location, file) = (self.location()?, self.output.clone());
        let found = options.run(&location, &self.baseline, selection, file)?;
        say_remarks(&found.remarks);
        let colour = output::colour_terminal();
        output::put(&write::aa::write(&found.aa, output::terminal_width(), colour), None)?;
        if let Some(file) = found.saved {
            eprintln!("note: the noise profile is {}", file.display());
        }
        let readable = found.remarks.unreadable.is_empty();
        Ok(if readable { ExitCode::SUCCESS } else { ExitCode::from(UNUSABLE) })
    }

    /// Whether output is to be coloured.
    fn colour(&self, when: ColorChoice) -> bool {
        match when {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => self.output.is_none() && output::colour_terminal(),
        }
    }

    fn location(&self) -> Result<Location> {
        Ok(match &self.criterion_dir {
            Some(folder) => Location::at(folder.clone()),
            None => Location::find(|name| std::env::var_os(name), &std::env::current_dir()?),
        })
    }

    /// What was recorded of these modes, or of all; and, without being shown, `beside` them.
    fn report(
        &self,
        modes: Option<&'static [plan::Mode]>,
        beside: &'static [plan::Mode],
    ) -> Result<Report> {
        let filter = self.filter.as_ref();
        let selection = Selection { modes, beside, filter, latest: self.latest };
        let (report, place) = match &self.from {
            Some(file) => (exported(file, selection)?, file.clone()),
            None => {
                let location = self.location()?;
                (Report::read(&location, &self.baseline, selection)?, location.records)
            }
        };
        if let Some(filter) = &self.filter
            && report.entries().next().is_none()
            && report.missing.is_empty()
            && report.rows_read() > 0
        {
            let read = units::count(report.rows_read(), "recorded case");
            let latest = if self.latest { ", of those that the latest run selected" } else { "" };
            say(&report);
            bail!("--filter {filter} matches none of {read} in {}{latest}", place.display());
        }
        Ok(report)
    }

    fn write(&self, writer: &Writer) -> Result<ExitCode> {
        let report = self.report(writer.modes(), writer.beside())?;
        let target = Target {
            colour_terminal: self.output.is_none() && output::colour_terminal(),
            width: self.output.as_ref().map_or_else(output::terminal_width, |_| None),
            file: self.output.as_deref(),
        };
        if !writer.says_warnings() {
            say(&report);
        }
        let file = self.output.as_deref();
        let written = output::stream(file, |out| writer.write(&report, target, out));
        if writer.says_warnings() && written.is_err() {
            say(&report);
        }
        let notes = written?;
        if writer.says_warnings() && !report.unreadable.is_empty() {
            let inputs = units::count(report.unreadable.len(), "input");
            eprintln!("error: {inputs} cannot be used: see below the tables");
        }
        notes.iter().flatten().for_each(|note| eprintln!("note: {note}"));
        let end = self.end(&report);
        // The process ends here: the system frees thousands of rows at once.
        std::mem::forget(report);
        Ok(end)
    }
}

/// The report of an exported file.
fn exported(file: &Path, selection: Selection<'_>) -> Result<Report> {
    match Inputs::read_file(file)? {
        Exported::Report { mut inputs, baseline } => {
            inputs.retain(&selection);
            Ok(Report::of(*inputs, &baseline, selection))
        }
        Exported::Critcmp(_) => bail!(
            "{}: critcmp's export has times and no records: only `compare` reads it",
            file.display()
        ),
    }
}

/// What was passed over, on standard error.
fn say(report: &Report) {
    report.unreadable.iter().for_each(|line| eprintln!("error: {line}"));
    report.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// The same of the sides of a comparison.
fn say_remarks(remarks: &Remarks) {
    remarks.unreadable.iter().for_each(|line| eprintln!("error: {line}"));
    remarks.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// Every selected case must have a time of its own.
fn strict(report: &Report) -> ExitCode {
    let unmeasured = report.unmeasured();
    if unmeasured.is_empty() {
        return ExitCode::SUCCESS;
    }
    let verb = if unmeasured.len() == 1 { "has" } else { "have" };
    eprintln!("--strict: {} {verb} no time:", units::count(unmeasured.len(), "case"));
    for (id, reason) in unmeasured {
        eprintln!("  {id}: {reason}");
    }
    ExitCode::from(GATE_FAILED)
}
