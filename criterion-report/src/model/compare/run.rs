//! The results of one process, as a side of a comparison sees them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use plan::RunManifest;
use rayon::prelude::*;

use super::asked::Asked;
use super::point::Point;
use crate::model::{CritcmpBaseline, Entry, Inputs, Report, Selection};

/// The cases of one name under which results were saved.
#[derive(Debug, Clone, Default)]
pub struct SideRun {
    /// The name, e.g. `main@3`.
    pub name: String,
    pub points: Vec<Point>,
    /// By bench target, the latest run that saved under the name.
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

    pub fn of_inputs(mut inputs: Inputs, name: &str, selection: Selection<'_>) -> (Self, Remarks) {
        let remarks = Remarks {
            unreadable: std::mem::take(&mut inputs.unreadable),
            warnings: std::mem::take(&mut inputs.warnings),
        };
        (Self::of_report(&Report::of(inputs, name, selection), name), remarks)
    }

    /// One of an export of critcmp, which holds times alone.
    pub fn of_critcmp(baseline: CritcmpBaseline, selection: Selection<'_>) -> Self {
        let points = baseline.benchmarks.iter();
        let points = points.map(|it| Point::of_estimates(&it.benchmark, &it.estimates));
        let points = points.filter(|point| selection.names(&point.full_id));
        Self::new(&baseline.name, points.collect())
    }

    fn of_report(report: &Report, name: &str) -> Self {
        let earlier = |id: &str| report.is_earlier(id);
        // The samples' own statistics take longer than all else.
        let entries: Vec<Entry<'_>> = report.entries().collect();
        let recorded = entries.par_iter().map(|it| Point::of(it, earlier(it.row.full_id())));
        let mut points: Vec<Point> = recorded.collect();
        points.extend(report.missing.iter().map(|it| Point::of_missing(it, earlier(&it.full_id))));
        // Each once: a manifest names all cases of its run.
        let targets: BTreeSet<&str> =
            points.iter().map(|point| plan::target_of(&point.full_id)).collect();
        let manifests = targets
            .into_iter()
            .filter_map(|target| Some((target.to_owned(), report.latest_run(target)?.clone())))
            .collect();
        Self { manifests, ..Self::new(name, points) }
    }

    pub fn get(&self, full_id: &str) -> Option<&Point> {
        self.places.get(full_id).map(|&place| &self.points[place])
    }

    /// The requests of its runs, by bench target.
    pub fn asked(&self) -> HashMap<&str, Asked<'_>> {
        self.manifests.iter().map(|(target, run)| (target.as_str(), Asked::of(Some(run)))).collect()
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
    /// Adds what reading another side has to say, each line once.
    pub fn extend(&mut self, other: Self) {
        // Runs of one folder share their defects.
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
