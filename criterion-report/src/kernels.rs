//! `kernels`: the tree of reports, what it is compared with, and the gates.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use plan::Mode;
use serde::Deserialize;

use crate::model::kernels::{
    Change, Changed, Changes, KernelResult, Past, Point, Thresholds, Trend, Uncompared, compare,
    history, trends,
};
use crate::model::{Interval, Location, Report, Selection};
use crate::output;
use crate::units;
use crate::write::kernels::{self as write, Document};

/// Modes of the cases that the tree is made of.
pub const MODES: &[Mode] = &[Mode::Kernels];
/// Modes whose cases say what the machine can do.
pub const BESIDE: &[Mode] = &[Mode::Calibration];

/// What `kernels` can be told.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Folder of the tree; its files are replaced one by one, each only when complete
    #[arg(long, value_name = "DIR", default_value = "reports")]
    output_dir: PathBuf,
    /// Compare with the results of another time
    ///
    /// The name that was given to `--save-baseline`, or a folder: an earlier --output-dir, or
    /// criterion's folder of another checkout (target/criterion, or its target). A name that has
    /// records comes before a folder called so. Cases are the same where their ids are and the
    /// machine is: processor, number of CPUs, GiB of memory and, of CUDA cases, the GPU. The
    /// interval is of the noise within the two measurements: what the machine did otherwise between
    /// them is not in it.
    #[arg(long, value_name = "BASELINE_OR_DIR")]
    compare_to: Option<String>,
    /// Show how times went over earlier runs: each *.json of the folder is the summary.json of one
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    /// Exit with 1 when there is any of these; the tree is written all the same
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    fail_on: Vec<Gate>,
    /// From which change on a time is another, relative to the earlier one
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "0.10",
        value_parser = threshold,
        allow_negative_numbers = true
    )]
    latency_threshold: f64,
    /// From which difference on a relative error is another
    #[arg(
        long,
        value_name = "DIFFERENCE",
        default_value = "1e-3",
        value_parser = threshold,
        allow_negative_numbers = true
    )]
    accuracy_threshold: f64,
}

/// Words of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Gate {
    /// A time is longer by more than the threshold, the whole interval above 1; or what was
    /// measured fails now
    Regression,
    /// An error is larger by more than the threshold
    Accuracy,
    /// What was measured has no result now
    Missing,
    /// A case fails, whatever it did earlier; the only one that needs no --compare-to
    Failure,
}

impl Gate {
    const fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Accuracy => "accuracy",
            Self::Missing => "missing",
            Self::Failure => "failure",
        }
    }
}

/// A threshold that there can be.
fn threshold(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        Ok(_) => Err("a threshold is a number from 0 on".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Options {
    /// Refuses gates that nothing could fail.
    pub fn check(&self) -> Result<()> {
        let compared = self.fail_on.iter().find(|gate| **gate != Gate::Failure);
        match (compared, &self.compare_to) {
            (Some(gate), None) => {
                bail!("--fail-on {} needs --compare-to: nothing is compared", gate.word())
            }
            _ => Ok(()),
        }
    }

    /// Writes the tree; says what was written, and which gates failed.
    pub fn run(
        &self,
        report: &Report,
        location: &Location,
        selection: Selection<'_>,
    ) -> Result<Vec<String>> {
        let results = KernelResult::all(report);
        if results.is_empty() {
            bail!(
                "no record of a kernel in {}; measure first with `cargo bench --bench kernels`",
                location.records.display()
            );
        }
        let now: Vec<Point> = results.iter().map(KernelResult::point).collect();
        let changes = match &self.compare_to {
            Some(name) => Some(self.changes(name, &now, location, selection)?),
            None => None,
        };
        let trends = match &self.history {
            Some(folder) => Some(trends_of(folder, &results, &now)?),
            None => None,
        };
        let document = Document {
            report,
            results: &results,
            changes: changes.as_ref(),
            trends: trends.as_deref(),
        };
        let files = write::tree(&document)?;
        let stale = stale(&self.output_dir, &files);
        put(&self.output_dir, &files)?;
        remove(&stale)?;
        output::put(&self.written(&results), None)?;
        let gates = self.fail_on.iter();
        Ok(gates.filter_map(|gate| failed(*gate, changes.as_ref(), &results)).collect())
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
            units::count(write::kernels(results).len(), "kernel"),
            outcomes.join(", "),
        )
    }

    fn changes(
        &self,
        name: &str,
        now: &[Point],
        location: &Location,
        selection: Selection<'_>,
    ) -> Result<Changes> {
        let before =
            baseline(name, location, selection).with_context(|| format!("--compare-to {name}"))?;
        let thresholds =
            Thresholds { latency: self.latency_threshold, accuracy: self.accuracy_threshold };
        Ok(compare(name, &before, now, thresholds))
    }
}

/// The cases of a saved baseline, of an earlier tree or of another checkout.
fn baseline(name: &str, location: &Location, selection: Selection<'_>) -> Result<Vec<Point>> {
    let folder = Path::new(name);
    let is_name = !name.is_empty() && !name.contains(['/', '\\']) && ![".", ".."].contains(&name);
    if is_name && (location.records.join(name).is_dir() || !folder.exists()) {
        return recorded(location, name, selection);
    }
    let summary = folder.join(write::SUMMARY);
    if summary.is_file() {
        let passes =
            |point: &Point| selection.filter.is_none_or(|filter| filter.is_match(&point.full_id));
        let mut points = Past::read(&summary)?.points;
        points.retain(passes);
        return Ok(points);
    }
    // A folder of records may lie beside any folder; one inside it is surely its own.
    for criterion in [folder.join("criterion"), folder.to_owned()] {
        let other = Location::at(criterion);
        if other.records.is_dir() && other.criterion.is_dir() {
            return recorded(&other, "new", selection);
        }
    }
    bail!(
        "neither a baseline in {}, nor a folder with a {}, nor criterion's folder with a `{}` beside \
         it",
        location.records.display(),
        write::SUMMARY,
        Location::RECORDS,
    )
}

fn recorded(location: &Location, name: &str, selection: Selection<'_>) -> Result<Vec<Point>> {
    let report = Report::read(location, name, selection)?;
    report.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    Ok(KernelResult::all(&report).iter().map(KernelResult::point).collect())
}

/// The trends; files that are no summaries are said and passed over.
fn trends_of(folder: &Path, results: &[KernelResult<'_>], now: &[Point]) -> Result<Vec<Trend>> {
    let (runs, unusable) = history(folder).context("--history")?;
    unusable.iter().for_each(|error| eprintln!("warning: --history: {error}"));
    let Some(timestamp) = write::timestamp(results) else { return Ok(Vec::new()) };
    Ok(trends(&runs, &Past { timestamp, points: now.to_vec() }))
}

fn put(folder: &Path, files: &[write::File]) -> Result<()> {
    for file in files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
        }
        output::put(&file.text, Some(&path))?;
    }
    Ok(())
}

/// Removes what an earlier report left in the folder and this one does not have: it would be read as
/// of now.
fn remove(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        match fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            result => result.with_context(|| format!("cannot remove {}", path.display()))?,
        }
    }
    Ok(())
}

/// The files of an earlier report that are not among those of now. Those of kernels are known by the
/// manifest that the earlier report left; without one nothing is known to be its file.
fn stale(folder: &Path, files: &[write::File]) -> Vec<PathBuf> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let manifest = fs::read(folder.join(write::MANIFEST)).unwrap_or_default();
    let earlier: Vec<Named> = serde_json::from_slice(&manifest).unwrap_or_default();
    let kernels = earlier.iter().filter_map(|kernel| write::path_of(&kernel.name).ok());
    let mut paths: Vec<String> = kernels.collect();
    paths.extend(write::OF_A_COMPARISON.map(str::to_owned));
    paths.retain(|path| files.iter().all(|file| file.path != *path));
    paths.iter().map(|path| folder.join(path)).collect()
}

/// The lines of a gate that failed.
fn failed(gate: Gate, changes: Option<&Changes>, results: &[KernelResult<'_>]) -> Option<String> {
    let regressions = changes.map(|changes| changes.regressions.as_slice()).unwrap_or_default();
    let is_error = |it: &&Changed| matches!(it.change, Change::Accuracy { .. });
    let lines: Vec<String> = match gate {
        Gate::Regression => regressions.iter().filter(|it| !is_error(it)).map(line).collect(),
        Gate::Accuracy => regressions.iter().filter(is_error).map(line).collect(),
        Gate::Missing => {
            let missing = changes.map(|changes| changes.missing.as_slice()).unwrap_or_default();
            let line = |Uncompared { full_id, reason }: &Uncompared| format!("{full_id}: {reason}");
            missing.iter().map(line).collect()
        }
        Gate::Failure => {
            let failed = results.iter().filter(|result| result.is_failure());
            failed.map(|result| format!("{}: {}", result.full_id, result.point().ended())).collect()
        }
    };
    if lines.is_empty() {
        return None;
    }
    let cases = units::count(lines.len(), "case");
    Some(format!("--fail-on {}: {cases}:\n  {}", gate.word(), lines.join("\n  ")))
}

fn line(changed: &Changed) -> String {
    let text = match &changed.change {
        Change::Latency { before_ns, after_ns, ratio, .. } => {
            let interval = Interval { low: ratio.low, high: ratio.high };
            format!(
                "{} to {}, {}",
                units::time(*before_ns),
                units::time(*after_ns),
                units::ratio(ratio.ratio, Some(interval))
            )
        }
        Change::Accuracy { measure, before, after } => {
            format!("{measure} {} to {}", units::error(*before), units::error(*after))
        }
        Change::Failure { before, after } => format!("{before} to {after}"),
    };
    format!("{}: {text}", changed.full_id)
}
