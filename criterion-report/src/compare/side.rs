//! One side of a comparison: all runs of a name, a folder or a file, each with its cases.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Result, bail};
use plan::RunManifest;

use super::past::{Past, SUMMARY};
use super::point::Point;
use crate::model::Entry;
use crate::order::Sorted as _;
use crate::parallel;
use crate::read::saved::{Saved, known};
use crate::read::{CritcmpBaseline, Exported, Inputs, Location, Report, Selection};

#[derive(Debug, Clone, Default)]
pub struct Side {
    pub name: String,
    /// In the order in which they were measured.
    pub runs: Vec<SideRun>,
}

fn remedy(name: &str, names: &BTreeSet<String>) -> String {
    if names.is_empty() {
        return "; there is no baseline at all: save one with `cargo bench -- --save-baseline NAME`"
            .to_owned();
    }
    let names: BTreeSet<&str> = names.iter().map(String::as_str).sorted_set();
    format!("\n  {}", plan::UnknownWord::new("baseline", name, names).remedy)
}

impl Side {
    pub(super) fn points_of(&self, full_id: &str) -> impl DoubleEndedIterator<Item = &Point> {
        self.runs.iter().filter_map(move |run| run.get(full_id))
    }

    /// How a case ended: if any run measured it, it was measured, and a defect of the case comes before
    /// another reason.
    pub(super) fn ended(&self, full_id: &str) -> String {
        let points = self.points_of(full_id).rev();
        let deciding = points.max_by_key(|point| (point.is_measured(), point.is_broken()));
        deciding.map(Point::ended).unwrap_or_default()
    }

    /// Cases that fail in any run, each once with how.
    pub fn failures(&self) -> Vec<String> {
        let mut known = BTreeSet::new();
        let points = self.runs.iter().flat_map(|run| &run.points);
        let failed = points.filter(|point| point.is_failure() && known.insert(&point.full_id));
        failed.map(|point| format!("{}: {}", point.full_id, point.ended())).collect()
    }

    /// Whether [`read`](Self::read) would find something: a baseline of that name, a file or a folder.
    pub fn is_saved(name: &str, location: &Location) -> Result<bool> {
        Ok(Self::is_baseline(name, location)? || Path::new(name).exists())
    }

    /// Whether there is a baseline of that name, or runs of one.
    pub fn is_baseline(name: &str, location: &Location) -> Result<bool> {
        Ok(is_name(name) && !Saved::under(&location.records, name)?.names.is_empty())
    }

    /// A side that consists of one run with these cases.
    pub fn of_points(name: &str, run: &str, points: Vec<Point>) -> Self {
        Self { name: name.to_owned(), runs: vec![SideRun::new(run, points)] }
    }

    /// Reads what `name` is: a baseline with records, with its runs `NAME@1`, `NAME@2` and so
    /// on; else a file that results were exported to, or a folder, of which `of_folder` is the
    /// baseline.
    pub fn read(
        name: &str,
        location: &Location,
        of_folder: &str,
        selection: Selection<'_>,
    ) -> Result<(Self, Remarks)> {
        let folder = Path::new(name);
        let read = |location: &Location, baseline: &str| {
            let inputs = Inputs::read(location, baseline, &selection)?;
            Ok(Self::of_inputs(name, inputs, baseline, selection))
        };
        if Self::is_baseline(name, location)? {
            return read(location, name);
        }
        if folder.is_file() {
            return Self::of_file(name, folder, selection);
        }
        let summary = folder.join(SUMMARY);
        if summary.is_file() {
            return Self::of_summary(name, &summary, selection);
        }
        // A folder of records may lie beside any folder; one inside it is surely its own.
        for criterion in [folder.join("criterion"), folder.to_owned()] {
            let other = Location::at(criterion);
            if folder.is_dir() && other.records.is_dir() && other.criterion.is_dir() {
                return read(&other, of_folder);
            }
        }
        bail!(
            "`{name}` cannot be compared: it is neither a baseline in {}, nor criterion's folder \
             with a `{}` beside it, nor a folder with a {SUMMARY}, nor an exported file{}",
            location.records.display(),
            Location::RECORDS,
            remedy(name, &known(&location.records)?)
        )
    }

    /// A side of what was read of a baseline, with a run for each run.
    fn of_inputs(
        name: &str,
        mut inputs: Inputs,
        baseline: &str,
        selection: Selection<'_>,
    ) -> (Self, Remarks) {
        let mut remarks = Remarks {
            unreadable: std::mem::take(&mut inputs.unreadable),
            warnings: std::mem::take(&mut inputs.warnings),
        };
        let mut of_runs = std::mem::take(&mut inputs.of_runs);
        if of_runs.is_empty() {
            of_runs.push((baseline.to_owned(), inputs));
        }
        let run = |(name, inputs): (String, Inputs)| {
            SideRun::of_report(&Report::new(inputs, &name, selection), &name)
        };
        let side = Self { name: name.to_owned(), runs: parallel::map_into(of_runs, run) };
        remarks.warnings.extend(side.of_several_revisions());
        (side, remarks)
    }

    fn of_several_revisions(&self) -> Option<String> {
        let revisions: Vec<&str> = self.revisions().into_iter().collect();
        let differ = self.runs.len() > 1 && revisions.len() > 1;
        differ.then(|| {
            format!(
                "the runs of `{}` are of {} revisions ({}): their code may differ",
                self.name,
                revisions.len(),
                revisions.join(", ")
            )
        })
    }

    /// An export of ours, or of critcmp.
    fn of_file(name: &str, file: &Path, selection: Selection<'_>) -> Result<(Self, Remarks)> {
        let (run, remarks) = match Exported::read(file)? {
            Exported::Report { mut inputs, baseline } => {
                inputs.retain(&selection);
                return Ok(Self::of_inputs(name, *inputs, &baseline, selection));
            }
            Exported::Critcmp(baseline) => {
                let unreadable = baseline.unreadable.clone();
                let remarks = Remarks { unreadable, ..Remarks::default() };
                (SideRun::of_critcmp(baseline, selection), remarks)
            }
        };
        Ok((Self { name: name.to_owned(), runs: vec![run] }, remarks))
    }

    fn of_summary(name: &str, summary: &Path, selection: Selection<'_>) -> Result<(Self, Remarks)> {
        let mut points = Past::read(summary)?.points;
        points.retain(|point| selection.names(&point.full_id));
        let runs = vec![SideRun::new(SUMMARY, points)];
        Ok((Self { name: name.to_owned(), runs }, Remarks::default()))
    }

    /// Whether any of its cases has a time.
    pub fn has_times(&self) -> bool {
        self.measured().any(|point| point.time.is_some())
    }

    /// Revisions of its measured cases, each once.
    pub fn revisions(&self) -> BTreeSet<&str> {
        self.measured().filter_map(|point| point.revision.as_deref()).collect()
    }

    /// Environment variables that its measured cases ran with, each list once.
    pub fn variables(&self) -> BTreeSet<&str> {
        self.measured().filter_map(|point| point.variables.as_deref()).collect()
    }

    /// Machines that its measured cases are of, each once.
    pub fn hosts(&self) -> BTreeSet<&str> {
        self.measured().filter_map(|point| point.host.as_deref()).collect()
    }

    /// The measured cases of all runs.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Point> {
        self.runs.iter().flat_map(|run| &run.points).filter(|point| point.is_measured())
    }
}

/// Whether the text can be the name of a baseline.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\']) && ![".", ".."].contains(&name)
}

/// The cases of one name under which results were saved.
#[derive(Debug, Clone, Default)]
pub struct SideRun {
    /// The name, e.g. `main@3`.
    pub name: String,
    pub points: Vec<Point>,
    /// By mode, the latest run of its bench target that saved under the name.
    pub manifests: BTreeMap<String, RunManifest>,
    places: HashMap<String, usize>,
}

impl SideRun {
    /// One of these cases, each id once.
    pub fn new(name: &str, points: Vec<Point>) -> Self {
        let places = points
            .iter()
            .enumerate()
            .map(|(place, point)| (point.full_id.clone(), place))
            .collect();
        Self { name: name.to_owned(), points, manifests: BTreeMap::new(), places }
    }

    /// One of an export of critcmp, which holds times alone.
    pub fn of_critcmp(baseline: CritcmpBaseline, selection: Selection<'_>) -> Self {
        let points = baseline.benchmarks.iter();
        let points = points.map(|it| Point::of_estimates(&it.benchmark, &it.estimates));
        let points = points.filter(|point| selection.names(&point.full_id));
        Self::new(&baseline.name, points.collect())
    }

    fn of_report(report: &Report, name: &str) -> Self {
        let earlier = |id: &str| report.runs.is_earlier(id);
        // The samples' own statistics take longer than all else.
        let entries: Vec<Entry<'_>> = report.entries().collect();
        let mut points =
            parallel::map(&entries, |it| Point::from_entry(it, earlier(it.row.full_id())));
        points.extend(report.missing.iter().map(|it| Point::of_missing(it, earlier(&it.full_id))));
        // Each once: a manifest names all cases of its run.
        let modes: BTreeSet<&str> =
            points.iter().map(|point| plan::mode_of(&point.full_id)).sorted_set();
        let manifests = modes
            .into_iter()
            .filter_map(|mode| Some((mode.to_owned(), report.runs.latest(mode)?)))
            .collect();
        Self { manifests, ..Self::new(name, points) }
    }

    pub fn get(&self, full_id: &str) -> Option<&Point> {
        self.places.get(full_id).map(|&place| &self.points[place])
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Files and lines that should be results and cannot be used.
    pub unreadable: Vec<String>,
    /// Remarks that are not defects.
    pub warnings: Vec<String>,
}

impl Remarks {
    /// Adds other remarks, each line once.
    pub fn extend(&mut self, other: Self) {
        // Runs of one folder share their defects, and a planned calibration lies in two folders.
        let add = |to: &mut Vec<String>, from: Vec<String>| {
            for line in from {
                if !to.contains(&line) {
                    to.push(line);
                }
            }
        };
        add(&mut self.unreadable, other.unreadable);
        add(&mut self.warnings, other.warnings);
    }
}
