//! The options of every command: which results, and where the output goes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use plan::{flag, results};
use regex::Regex;

use super::{GATE_FAILED, NEW, UNUSABLE};
use crate::cli::writer::Writer;
use crate::read::{Exported, Location, Report, Selection};
use crate::render::units;
use crate::views::written::{AllRefused, Target, Written};
use crate::{output, visible};

/// Arguments of every command.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(super) struct Source {
    /// Criterion's folder; the records lie in `criterion-torch` beside it
    ///
    /// By default $CRITERION_HOME, else `criterion` in the folder that cargo builds in here. Without
    /// a package or cargo: $CARGO_TARGET_DIR/criterion, else target/criterion of the nearest folder
    /// upwards that has a Cargo.lock or a target folder.
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) criterion_dir: Option<PathBuf>,
    /// Read a file of `export json` or `export jsonl` instead of folders
    #[arg(long, global = true, value_name = "FILE", conflicts_with_all = ["criterion_dir", "baseline"])]
    pub(super) from: Option<PathBuf>,
    /// Results under this name of `--save-baseline`; `new` is the latest
    ///
    /// If several runs were saved as NAME@1, NAME@2 and so on, NAME is all of them, one row per
    /// case, and NAME@2 that one.
    #[arg(long, global = true, value_name = "NAME", default_value = NEW)]
    pub(super) baseline: String,
    /// Only cases whose id matches, e.g. `int8wo` or `/cuda`
    ///
    /// Filtered-out cases still serve as baselines of those shown.
    #[arg(long, global = true, value_name = "REGEX")]
    pub(super) filter: Option<Regex>,
    /// Write to this file, replaced only when complete; `-` is standard output
    #[arg(long, short, global = true, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Only cases that the latest run of their bench target selected
    ///
    /// Results stay on disk until their case is measured again, so without this option the results
    /// of removed configs and of older commits are shown, too.
    #[arg(long, global = true)]
    pub(super) latest: bool,
    /// Exit with 1 when a case has no time from the last run that selected it
    ///
    /// The case failed, was skipped, has a stale or no estimate, or that run ended before it. The
    /// output is written all the same.
    #[arg(long, global = true)]
    pub(super) strict: bool,
}

/// Refuses the flags that are given, for this reason.
pub(super) fn none_of(asked: &[(&str, bool)], why: &str) -> Result<()> {
    let asked: Vec<&str> = asked.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
    ensure!(asked.is_empty(), "{why}: omit {}", asked.join(", "));
    Ok(())
}

impl Source {
    /// Adds the filter that some commands take as their first argument.
    pub(super) fn narrowed(self, filter: Option<&Regex>) -> Result<Self> {
        match (filter, &self.filter) {
            (None, _) => Ok(self),
            (Some(filter), None) => Ok(Self { filter: Some(filter.clone()), ..self }),
            (Some(filter), Some(other)) => {
                bail!("two filters, {filter} and --filter {other}: give one of them")
            }
        }
    }

    /// The exit code of a command that has written its output. Unreadable input is not a success.
    pub(super) fn end(&self, report: &Report) -> ExitCode {
        let strict = if self.strict { strict(report) } else { ExitCode::SUCCESS };
        if report.unreadable.is_empty() { strict } else { ExitCode::from(UNUSABLE) }
    }

    /// Checks that nothing was asked about results, which are not read.
    pub(super) fn nothing_of_results(&self, what: &str, output: bool) -> Result<()> {
        let asked = [
            ("--strict", self.strict),
            ("--latest", self.latest),
            ("--filter", self.filter.is_some()),
            ("--baseline", self.baseline != NEW),
            ("--criterion-dir", self.criterion_dir.is_some()),
            ("--from", self.from.is_some()),
            ("--output", output && self.output.is_some()),
        ];
        none_of(&asked, &format!("{what} and reads no results"))
    }

    pub(super) fn location(&self) -> Result<Location> {
        Ok(match &self.criterion_dir {
            Some(folder) => Location::at(folder.clone()),
            None => {
                let (criterion, guessed) = results::of_tool(&std::env::current_dir()?);
                if let Some(why) = guessed {
                    let place = criterion.display();
                    output::tell_line(
                        "warning",
                        &format!("{why}; reading {place}; --criterion-dir says another"),
                    );
                }
                Location::at(criterion)
            }
        })
    }

    /// Reads the records of these modes, or of all; and, without showing them, those of `beside`.
    /// With `only_times` nothing else of criterion's data is kept.
    pub(super) fn report(
        &self,
        modes: Option<&'static [plan::Mode]>,
        beside: &'static [plan::Mode],
        only_times: bool,
    ) -> Result<Report> {
        let filter = self.filter.as_ref();
        let selection = Selection { modes, beside, filter, only_times, latest: self.latest };
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
            && report.rows_read > 0
        {
            let read = units::count(report.rows_read, "recorded case");
            let latest = if self.latest { ", of those that the latest run selected" } else { "" };
            let others: Vec<&String> = report.left_out.iter().collect();
            let remedy = flag::escaped_filter(filter.as_str(), &others).map_or_else(
                || "`criterion-report show --columns full-id` lists their ids".to_owned(),
                |escaped| format!("as a regular expression, that text is '{escaped}'"),
            );
            say(&report.unreadable, &report.warnings);
            bail!(
                "--filter {filter} matches none of {read} in {}{latest}\n  {remedy}",
                place.display()
            );
        }
        Ok(report)
    }

    pub(super) fn write(&self, writer: &Writer) -> Result<ExitCode> {
        let report = self.report(writer.modes(), writer.also_reads(), writer.needs_only_times())?;
        let target = Target {
            colour_terminal: self.output.is_none() && output::colour_terminal(),
            width: self.output.as_ref().map_or_else(output::terminal_width, |_| None),
            file: self.output.as_deref(),
        };
        if !writer.says_warnings() {
            say(&report.unreadable, &report.warnings);
        }
        let file = self.output.as_deref();
        let written = output::stream(file, |out| writer.write(&report, target, out));
        if writer.says_warnings() && written.is_err() {
            say(&report.unreadable, &report.warnings);
        }
        let Written { notes, refused } = match written {
            Ok(written) => written.unwrap_or_default(),
            Err(error) => error.downcast::<AllRefused>()?.0,
        };
        if writer.says_warnings() && !report.unreadable.is_empty() {
            let inputs = units::count(report.unreadable.len(), "input");
            output::tell(&format!("error: {inputs} cannot be used: see below the tables"));
        }
        notes.iter().for_each(|note| output::tell_line("note", note));
        let refused: Vec<String> = refused.iter().map(|text| format!("refused: {text}")).collect();
        let (ended, end) = (gated(report.unreadable.is_empty(), &refused), self.end(&report));
        let end = ended.unwrap_or(end);
        // The process ends here: the system frees thousands of rows at once.
        std::mem::forget(report);
        Ok(end)
    }
}

fn exported(file: &Path, selection: Selection<'_>) -> Result<Report> {
    match Exported::read(file)? {
        Exported::Report { mut inputs, baseline } => {
            inputs.retain(&selection);
            Ok(Report::new(*inputs, &baseline, selection))
        }
        Exported::Critcmp(_) => bail!(
            "{}: critcmp's export has times and no records: only `compare` reads it",
            file.display()
        ),
    }
}

/// Prints skipped input on standard error.
pub(super) fn say(unreadable: &[String], warnings: &[String]) {
    unreadable.iter().for_each(|line| output::tell_line("error", line));
    warnings.iter().for_each(|warning| output::tell_line("warning", warning));
}

/// How a command ends that did not pass; says the gates that failed. One with input that could not be
/// read has not passed, nor has it failed.
pub(super) fn gated(readable: bool, failed: &[String]) -> Option<ExitCode> {
    failed.iter().for_each(|gate| output::tell(gate));
    match (readable, failed.is_empty()) {
        (false, _) => Some(ExitCode::from(UNUSABLE)),
        (true, false) => Some(ExitCode::from(GATE_FAILED)),
        (true, true) => None,
    }
}

/// Every selected case must have a time of its own.
pub(super) fn strict(report: &Report) -> ExitCode {
    let unmeasured = report.unmeasured();
    if unmeasured.is_empty() {
        return ExitCode::SUCCESS;
    }
    let verb = if unmeasured.len() == 1 { "has" } else { "have" };
    output::tell(&format!("--strict: {} {verb} no time:", units::count(unmeasured.len(), "case")));
    for (id, reason) in unmeasured {
        output::tell(&format!("  {}", visible::line(&format!("{id}: {reason}"))));
    }
    ExitCode::from(GATE_FAILED)
}
