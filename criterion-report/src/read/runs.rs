//! The requests of runs: which case belongs to the latest run, and which one a run did not reach.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use plan::{Check, CheckStatus, RunManifest, RunShard};
use serde::{Deserialize, Serialize};

use crate::model::Row;
use crate::order::{Order as _, Sorted as _};

/// A run as it left its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// The manifest of the run.
    pub manifest: RunManifest,
    /// The case that it was in when it ended, if it did not end in good order.
    pub running: Option<String>,
    /// Whether it held the lock when its files were read, and so had not ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_progress: bool,
}

impl Run {
    /// The cases that it left records of: none if it only merged runs, else all that it had to measure, or those before
    /// the one that it ended in.
    fn recorded(&self) -> Vec<&String> {
        if self.manifest.merged {
            return Vec::new();
        }
        let mut owed: Vec<&String> = self.manifest.owed().collect();
        if self.manifest.finished.is_none() {
            let running = self.running.as_ref();
            owed.truncate(owed.iter().position(|id| Some(*id) == running).unwrap_or(0));
        }
        owed
    }

    /// Why a case that it selected has no record of it; none where nothing is wrong with that: its own
    /// record was replaced.
    pub(crate) fn without(&self, id: &str, cut_off: bool, other_record: bool) -> Option<String> {
        let RunManifest { run_id, finished, .. } = &self.manifest;
        let is_running = self.running.as_deref() == Some(id);
        if self.manifest.merged {
            // `merge` has chosen among the runs' records.
            return (!other_record).then(|| NOT_MERGED.to_owned());
        }
        Some(if cut_off {
            format!("the record that run {run_id} left of this case is cut off or invalid")
        } else if self.in_progress && is_running {
            format!("run {run_id} is in progress, at this case")
        } else if self.in_progress {
            format!("run {run_id} is in progress and has not reached this case yet")
        } else if finished.is_some() && other_record {
            return None;
        } else if finished.is_some() {
            format!("run {run_id} ended, and there is no record of this case any more")
        } else if is_running {
            format!("run {run_id} ended while this case was running")
        } else {
            format!("run {run_id} ended before it reached this case")
        })
    }
}

/// A case without a record: a run selected it and ended before it had one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missing {
    /// Criterion's id.
    pub full_id: String,
    /// The reason, as far as it is known.
    pub reason: String,
}

/// Why a planned case of merged results is missing.
const NOT_MERGED: &str = "planned, and no merged folder had a record of it; merge.txt says why";

/// Why a case with a record of an older version is missing.
pub(crate) const OLDER: &str =
    "its record is of an earlier version of criterion-torch; measure it again with `cargo bench`";

/// The runs that saved under one baseline and selected a case at all, the oldest first.
#[derive(Debug, Default)]
pub struct Runs {
    runs: Vec<Run>,
    /// The modes of which a run selected a case.
    modes: HashSet<String>,
    /// The cases that the latest runs of all bench targets selected.
    selected: HashSet<String>,
}

impl Runs {
    /// The runs that concern `baseline`, the oldest first as far as clocks tell. `recorded` are the
    /// ids of the runs that left records in it, `written` those that wrote the last one of each case.
    pub fn new(
        runs: Vec<Run>,
        baseline: &str,
        recorded: &HashSet<String>,
        written: &HashMap<&str, &str>,
    ) -> Self {
        let saved = |manifest: &RunManifest| match &manifest.baseline {
            // `new` is whatever ran last, under whichever name criterion saved it besides.
            Some(name) => baseline == "new" || name == baseline,
            // A mere test saves nothing; a run against `--baseline` saves as `new` only.
            None => recorded.contains(&manifest.run_id),
        };
        let concerns = |run: &Run| !run.manifest.selected.is_empty() && saved(&run.manifest);
        Self::from(in_order(runs.into_iter().filter(concerns).collect(), written))
    }

    /// The runs of several names, in the order of the names.
    pub fn of_all(each: Vec<Self>) -> Self {
        Self::from(each.into_iter().flat_map(|of_name| of_name.runs).collect())
    }

    /// The place of each run among them, from 1. Nothing is known of other runs.
    pub fn places(&self) -> HashMap<&str, usize> {
        let ids = self.runs.iter().map(|run| run.manifest.run_id.as_str());
        ids.zip(1..).collect()
    }

    fn from(runs: Vec<Run>) -> Self {
        // The map keeps the last of equal keys.
        let latest: HashMap<&String, &RunManifest> =
            runs.iter().map(|run| (&run.manifest.target, &run.manifest)).collect();
        let selected = latest.values().flat_map(|last| selected_with(&runs, last)).collect();
        let ids = runs.iter().flat_map(|run| &run.manifest.selected);
        let modes: HashSet<&str> = ids.map(|id| plan::mode_of(id)).collect();
        let modes = modes.into_iter().map(str::to_owned).collect();
        Self { runs, modes, selected }
    }

    /// All of them, the oldest first.
    pub fn all(&self) -> &[Run] {
        &self.runs
    }

    /// The latest run of the bench target that last measured a mode, whatever that run selected; of records
    /// without a run manifest none is known. A run that took a part of the plan has selected what the runs
    /// of the other parts did, too.
    pub fn latest(&self, mode: &str) -> Option<RunManifest> {
        let runs = || self.runs.iter().map(|run| &run.manifest);
        let is_of_mode = |id: &String| plan::mode_of(id) == mode;
        let last = runs().rfind(|manifest| manifest.selected.iter().any(is_of_mode))?;
        let last = runs().rfind(|manifest| manifest.target == last.target)?;
        Some(RunManifest { selected: selected_with(&self.runs, last), ..last.clone() })
    }

    /// Whether the latest run of its bench target did not select this case. No case of a mode without a
    /// run manifest is called earlier.
    pub fn is_earlier(&self, id: &str) -> bool {
        self.modes.contains(plan::mode_of(id)) && !self.selected.contains(id)
    }

    fn with_ids(&self, run_ids: &HashSet<&str>) -> impl Iterator<Item = &RunManifest> {
        let runs = self.runs.iter().map(|run| &run.manifest);
        runs.filter(|manifest| run_ids.contains(manifest.run_id.as_str()))
    }

    /// The warnings about the machine of the runs with these ids: of warnings that differ in their
    /// figures only, the latest run's.
    pub fn warnings(&self, run_ids: &HashSet<&str>) -> Vec<String> {
        let mut warnings: Vec<&String> = Vec::new();
        for text in self.with_ids(run_ids).flat_map(|manifest| &manifest.warnings) {
            match warnings.iter_mut().find(|known| without_figures(known) == without_figures(text))
            {
                Some(known) => *known = text,
                None => warnings.push(text),
            }
        }
        warnings.into_iter().cloned().collect()
    }

    /// The checks of the machine of the runs with these ids, each once: of several answers the worst,
    /// of equally bad ones the latest run's.
    pub fn checks(&self, run_ids: &HashSet<&str>) -> Vec<Check> {
        self.findings(run_ids).into_iter().map(|(_, check)| check.clone()).collect()
    }

    /// The checks, each with the run that found it.
    pub fn findings(&self, run_ids: &HashSet<&str>) -> Vec<(&RunManifest, &Check)> {
        let mut findings: Vec<(&RunManifest, &Check)> = Vec::new();
        let runs = self.with_ids(run_ids);
        for (run, check) in runs.flat_map(|run| run.checks.iter().map(move |check| (run, check))) {
            match findings.iter_mut().find(|(_, known)| known.name == check.name) {
                Some((_, known)) if severity(check.status) < severity(known.status) => {}
                Some(known) => *known = (run, check),
                None => findings.push((run, check)),
            }
        }
        findings
    }

    /// Finds what runs left without a record of their own. The last run that had to measure a case
    /// decides: cases without any record are returned, rows of an earlier run are marked as
    /// outdated. `older` are cases whose record is of an older version, `cut_off` the runs whose
    /// record of a case cannot be used.
    pub fn unreached(
        &self,
        rows: &mut [Row],
        older: &HashSet<String>,
        cut_off: &HashMap<String, String>,
    ) -> Vec<Missing> {
        let last: HashMap<&str, &str> = self
            .runs
            .iter()
            .map(|run| &run.manifest)
            .flat_map(|manifest| manifest.owed().map(|id| (id.as_str(), manifest.run_id.as_str())))
            .collect();
        let places: HashMap<&str, usize> = rows.iter().map(Row::full_id).zip(0..).collect();
        let (mut missing, mut outdated) = (Vec::new(), Vec::new());
        for run in &self.runs {
            let run_id = &run.manifest.run_id;
            for id in run.manifest.owed().filter(|id| last[id.as_str()] == run_id) {
                let place = places.get(id.as_str()).copied();
                if place.is_some_and(|place| rows[place].record.run_id == *run_id) {
                    continue;
                }
                let cut_off = cut_off.get(id) == Some(run_id);
                let Some(reason) = run.without(id, cut_off, place.is_some()) else { continue };
                match place {
                    None => {
                        let passed_over = older.contains(id).then(|| OLDER.to_owned());
                        let reason = passed_over.unwrap_or(reason);
                        missing.push(Missing { full_id: id.clone(), reason });
                    }
                    Some(place) => {
                        let run = &rows[place].record.run_id;
                        outdated.push((place, format!("{reason}; this is from run {run}")));
                    }
                }
            }
        }
        for (place, reason) in outdated {
            rows[place].outdated = Some(reason);
        }
        missing
    }
}

/// Puts runs into the order in which they ran, as far as their files show it, whatever the clock said:
/// where a run left a record of a case and the last one is of another run, that one came later. The run
/// that is in progress is the last. All others stay as they stand.
fn in_order(runs: Vec<Run>, written: &HashMap<&str, &str>) -> Vec<Run> {
    let places: HashMap<&str, usize> =
        runs.iter().enumerate().map(|(place, run)| (&*run.manifest.run_id, place)).collect();
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); runs.len()];
    // An ended run has certainly recorded all. It comes first: nothing contradicts it.
    for is_ended in [true, false] {
        for (place, run) in runs.iter().enumerate() {
            if run.manifest.finished.is_some() != is_ended {
                continue;
            }
            let recorded = run.recorded().into_iter();
            let replaced = recorded.filter_map(|id| written.get(id.as_str()));
            for &later in replaced.filter_map(|run_id| places.get(run_id)) {
                if later != place && !before[place].contains(&later) {
                    before[later].insert(place);
                }
            }
        }
    }
    let mut order = Vec::with_capacity(runs.len());
    let mut seen = vec![false; runs.len()];
    for place in 0..runs.len() {
        // A run, and whether all that came before it stand in the order already.
        let mut open = vec![(place, false)];
        while let Some((place, is_next)) = open.pop() {
            if is_next {
                order.push(place);
            } else if !std::mem::replace(&mut seen[place], true) {
                open.push((place, true));
                open.extend(before[place].iter().rev().map(|&earlier| (earlier, false)));
            }
        }
    }
    order.order_by_key(|&place| runs[place].in_progress);
    let mut runs: Vec<Option<Run>> = runs.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| runs[place].take()).collect()
}

/// The cases that a run selected. Where it took one part of the plan, the last run of each other part of the
/// same division belongs to it: together they are one run of the whole plan.
fn selected_with(runs: &[Run], last: &RunManifest) -> Vec<String> {
    let Some(shard) = &last.shard else { return last.selected.clone() };
    let is_beside = |it: &&RunManifest| {
        let same =
            |other: &RunShard| (other.count, &other.partition) == (shard.count, &shard.partition);
        it.target == last.target && it.shard.as_ref().is_some_and(same)
    };
    // The map keeps the last of equal keys.
    let parts: BTreeMap<Option<u32>, &RunManifest> = runs
        .iter()
        .map(|run| &run.manifest)
        .filter(is_beside)
        .map(|manifest| (manifest.shard.as_ref().map(|shard| shard.index), manifest))
        .sorted_map();
    parts.into_values().flat_map(|manifest| &manifest.selected).cloned().collect()
}

/// How much a finding takes from the numbers; one that could not be made takes less than a warning.
const fn severity(status: CheckStatus) -> u8 {
    match status {
        CheckStatus::Passed => 0,
        CheckStatus::Skipped => 1,
        CheckStatus::Warning => 2,
        CheckStatus::Failed => 3,
    }
}

fn without_figures(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
