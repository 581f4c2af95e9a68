//! `kernels`: the tree of reports, what it is compared with, and the gates.

mod tree;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use plan::Mode;

use crate::cli::compare::Gate;
use crate::compare::{
    Comparison, Floors, Hosts, Limits, Point, Policy, Remarks, Settings, Side, SideFacts,
    SideLabels, Thresholds, compare, threshold,
};
use crate::read::{Location, Report, Selection};
use crate::render::{units, words};
use crate::views::kernels::{BranchHistory, KernelResult, Past, Trend, history, trends};
use crate::views::kernels::{text as write, text::Document, text::Regressions};
use crate::{output, visible};

pub const MODES: &[Mode] = &[Mode::Kernels];
/// Modes whose cases say what the machine can do.
pub const BESIDE: &[Mode] = &[Mode::Calibration];
/// The baseline of a folder that is compared with.
const OF_FOLDER: &str = "new";

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Folder of the reports; each file is replaced only when complete
    #[arg(long, value_name = "DIR", default_value = "reports")]
    output_dir: PathBuf,
    /// Print a table of what judges found, in Markdown, instead of writing the folder
    ///
    /// A row per case: whether it is judged, its time by the judge's clock, and the checks. Seeds,
    /// machine and commit are below, so that others can repeat it.
    #[arg(long, conflicts_with_all = ["output_dir", "compare_to", "history"])]
    pub judged: bool,
    /// Earlier results: baseline name, folder, exported file or branch
    ///
    /// A side, as `criterion-report compare` takes it; or a branch of the repository, of which the
    /// latest results in `benchmarks/history` are taken.
    #[arg(long, value_name = "SIDE")]
    compare_to: Option<String>,
    /// Folder of earlier summary.json files, for trends
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    /// Exit with 1 if any of these is found; all but failure need --compare-to
    ///
    /// With --judged a kernel that was measured and not judged is a failure, too.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    fail_on: Vec<Gate>,
    /// Least relative change of a time
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = Limits::default().latency,
        value_parser = threshold,
        allow_negative_numbers = true
    )]
    latency_threshold: f64,
    /// Least change of a relative error
    #[arg(
        long,
        value_name = "ERROR",
        default_value_t = Limits::default().accuracy,
        value_parser = threshold,
        allow_negative_numbers = true
    )]
    accuracy_threshold: f64,
}

impl Options {
    /// Refuses gates that nothing could fail.
    pub fn check(&self) -> Result<()> {
        let compared = self.fail_on.iter().find(|gate| gate.compares());
        match (compared, &self.compare_to) {
            (Some(gate), None) => {
                let gate = words::of_flag(*gate);
                bail!("--fail-on {gate} needs --compare-to: nothing is compared")
            }
            _ => Ok(()),
        }
    }

    /// Writes the tree, and says so; or the table of judges to `file`. Returns the gates that failed,
    /// each with its cases, and what reading the other runs has to say.
    pub fn run(
        &self,
        report: &Report,
        location: &Location,
        selection: Selection<'_>,
        file: Option<&Path>,
    ) -> Result<(Vec<String>, Remarks)> {
        let results = KernelResult::all(report);
        if results.is_empty() {
            bail!(
                "no record of a kernel in {}; measure first with `cargo bench --bench kernels`",
                location.records.display()
            );
        }
        let now: Vec<Point> = results.iter().map(|result| result.point.clone()).collect();
        let mut side = Side::of_points("now", "now", now.clone());
        let latest = report.runs.latest(Mode::Kernels.as_str());
        side.runs[0].manifests.extend(latest.map(|run| (Mode::Kernels.to_string(), run)));
        let (comparison, source, mut remarks) = match &self.compare_to {
            Some(name) => {
                let (before, source, remarks) =
                    self.side(name, location, selection, &now).context("--compare-to")?;
                (Some(self.compared(&before, &side)?), source, remarks)
            }
            None => (None, None, Remarks::default()),
        };
        // A file beside both sides is named once.
        remarks.unreadable.retain(|line| !report.unreadable.contains(line));
        remarks.warnings.retain(|line| !report.warnings.contains(line));
        let trends = match &self.history {
            Some(folder) => {
                let (trends, unusable) = trends_of(folder, &results, &now)?;
                let unusable = unusable.iter().map(|error| format!("--history: {error}"));
                remarks.unreadable.extend(unusable);
                Some(trends)
            }
            None => None,
        };
        let document = Document {
            report,
            results: &results,
            regressions: comparison
                .as_ref()
                .map(|comparison| Regressions { comparison, source: source.as_deref() }),
            trends: trends.as_deref(),
        };
        if self.judged {
            output::put(&write::judged(report, &results), file)?;
        } else {
            tree::put(&self.output_dir, &write::tree(&document)?)?;
            output::put(&visible::lines(&self.written(&results)), None)?;
        }
        if let Some(comparison) = &comparison {
            let used = source.map_or_else(|| used(&comparison.a, location), Ok)?;
            output::put(&visible::lines(&format!("compared with {used}\n")), None)?;
        }
        let gates = self.fail_on.iter();
        let mut failed: Vec<String> =
            gates.filter_map(|gate| gate.failed(comparison.as_ref(), &side)).collect();
        if self.judged && self.fail_on.contains(&Gate::Failure) {
            failed.extend(words::of_failed_gate(Gate::Failure, &write::unjudged(&results)));
        }
        Ok((failed, remarks))
    }

    /// The side to compare with: saved results, or else the history of a git branch of that name; and a text that says
    /// where it was found.
    fn side(
        &self,
        name: &str,
        location: &Location,
        selection: Selection<'_>,
        now: &[Point],
    ) -> Result<(Side, Option<String>, Remarks)> {
        if !Side::is_saved(name, location)?
            && let Some(history) = BranchHistory::read(Path::new("."), name, now)?
        {
            let BranchHistory { mut points, source, unusable } = history;
            points.retain(|point| selection.names(&point.full_id));
            let unreadable = unusable.iter().map(|error| format!("{error:#}")).collect();
            let remarks = Remarks { unreadable, ..Remarks::default() };
            return Ok((Side::of_points(name, &source, points), Some(source), remarks));
        }
        let (side, remarks) = Side::read(name, location, OF_FOLDER, selection)?;
        Ok((side, None, remarks))
    }

    /// One line for standard output.
    fn written(&self, results: &[KernelResult<'_>]) -> String {
        let outcomes = write::outcomes(results);
        let outcomes: Vec<String> =
            outcomes.iter().map(|(status, cases)| format!("{cases} {status}")).collect();
        format!(
            "{}: {} of {}: {}\n",
            self.output_dir.display(),
            units::count(results.len(), "case"),
            units::count(write::by_kernel(results).len(), "kernel"),
            outcomes.join(", "),
        )
    }

    /// The present results against earlier ones. Cases of another machine are not compared.
    fn compared(&self, before: &Side, now: &Side) -> Result<Comparison> {
        let limits = Limits {
            latency: self.latency_threshold,
            accuracy: self.accuracy_threshold,
            ..Limits::default()
        };
        let settings = Settings {
            policy: Policy::Within,
            thresholds: &Thresholds { limits, rules: Vec::new() },
            floors: Floors::Ignored,
            hosts: Hosts::Apart,
            words: SideLabels::NOW,
            lockstep: None,
        };
        compare(before, now, settings)
    }
}

/// The side that was compared with, for people. A branch and a saved baseline may have the same name.
fn used(side: &SideFacts, location: &Location) -> Result<String> {
    let name = &side.name;
    let place = if Side::is_baseline(name, location)? {
        format!("the saved baseline {name} in {}", location.records.display())
    } else {
        name.clone()
    };
    let revisions = side.revisions.join(", ");
    Ok(if revisions.is_empty() { place } else { format!("{place}, measured at {revisions}") })
}

/// The trends, and the files that are no summaries.
fn trends_of(
    folder: &Path,
    results: &[KernelResult<'_>],
    now: &[Point],
) -> Result<(Vec<Trend>, Vec<anyhow::Error>)> {
    let (runs, unusable) = history(folder).context("--history")?;
    let Some(timestamp) = write::timestamp(results) else { return Ok((Vec::new(), unusable)) };
    Ok((trends(&runs, &Past { timestamp, commit: None, points: now.to_vec() }), unusable))
}
