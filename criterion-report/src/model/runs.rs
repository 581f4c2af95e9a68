//! What runs were asked for: which case is of the latest run, and which one a run did not reach.

use std::collections::{BTreeMap, HashMap, HashSet};

use plan::{Check, CheckStatus, RunManifest};
use serde::{Deserialize, Serialize};

use super::row::Row;

/// A run as it left its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What it was asked for.
    pub manifest: RunManifest,
    /// The case that it was in when it ended, if it did not end in good order.
    pub running: Option<String>,
}

/// A case without a record: a run selected it and ended before it had one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Criterion's id.
    pub full_id: String,
    /// What is known about it.
    pub reason: String,
}

/// Why a case with a record of an older version is missing.
const OLDER: &str =
    "its record is of an earlier version of criterion-torch; measure it again with `cargo bench`";

/// The runs that saved under one baseline and selected a case at all, the oldest first.
#[derive(Debug, Default)]
pub struct Runs {
    runs: Vec<Run>,
    /// The bench targets of which there is a run.
    targets: HashSet<String>,
    /// What the latest runs of all of them selected.
    selected: HashSet<String>,
}

impl Runs {
    /// Those of `runs`, the oldest first, that concern `baseline`; `recorded` are the ids of the
    /// runs that left records in it.
    pub fn of(runs: Vec<Run>, baseline: &str, recorded: &HashSet<String>) -> Self {
        let saved = |manifest: &RunManifest| match &manifest.baseline {
            // `new` is whatever ran last, under whichever name criterion saved it besides.
            Some(name) => baseline == "new" || name == baseline,
            // A mere test saves nothing; a run against `--baseline` saves as `new` only.
            None => recorded.contains(&manifest.run_id),
        };
        let concerns = |run: &Run| !run.manifest.selected.is_empty() && saved(&run.manifest);
        Self::from(runs.into_iter().filter(concerns).collect::<Vec<_>>())
    }

    fn from(runs: Vec<Run>) -> Self {
        let mut them = Self { runs, ..Self::default() };
        let latest = them.latest();
        let targets = latest.keys().map(|&target| target.to_owned()).collect();
        let selected = latest.values().flat_map(|manifest| &manifest.selected).cloned().collect();
        (them.targets, them.selected) = (targets, selected);
        them
    }

    /// All of them.
    pub fn all(&self) -> &[Run] {
        &self.runs
    }

    /// The latest run of each bench target.
    pub fn latest(&self) -> BTreeMap<&str, &RunManifest> {
        // Of equal keys the last is kept.
        self.runs.iter().map(|run| (run.manifest.target.as_str(), &run.manifest)).collect()
    }

    /// Whether the latest run of its bench target did not select this case. Of a target without a
    /// run manifest nothing is known, so none of its cases is called earlier.
    pub fn is_earlier(&self, id: &str) -> bool {
        self.targets.contains(plan::target_of(id)) && !self.selected.contains(id)
    }

    /// What the runs with these ids found wrong with the machine: of warnings that differ in their
    /// figures only, the latest run's.
    pub fn warnings(&self, run_ids: &HashSet<&str>) -> Vec<String> {
        let runs = self.runs.iter().map(|run| &run.manifest);
        let runs = runs.filter(|manifest| run_ids.contains(manifest.run_id.as_str()));
        let mut warnings: Vec<&String> = Vec::new();
        for text in runs.flat_map(|manifest| &manifest.warnings) {
            match warnings.iter_mut().find(|known| without_figures(known) == without_figures(text))
            {
                Some(known) => *known = text,
                None => warnings.push(text),
            }
        }
        warnings.into_iter().cloned().collect()
    }

    /// What the runs with these ids asked the machine, each check once: of several answers the worst,
    /// of equally bad ones the latest run's.
    pub fn checks(&self, run_ids: &HashSet<&str>) -> Vec<Check> {
        self.findings(run_ids).into_iter().map(|(_, check)| check.clone()).collect()
    }

    /// The same, each with the run that found it.
    pub fn findings(&self, run_ids: &HashSet<&str>) -> Vec<(&RunManifest, &Check)> {
        let runs = self.runs.iter().map(|run| &run.manifest);
        let runs = runs.filter(|manifest| run_ids.contains(manifest.run_id.as_str()));
        let mut findings: Vec<(&RunManifest, &Check)> = Vec::new();
        for (run, check) in runs.flat_map(|run| run.checks.iter().map(move |check| (run, check))) {
            match findings.iter_mut().find(|(_, known)| known.name == check.name) {
                Some((_, known)) if severity(check.status) < severity(known.status) => {}
                Some(known) => *known = (run, check),
                None => findings.push((run, check)),
            }
        }
        findings
    }

    /// Finds what runs left without a record of their own. Of several runs that selected a case
    /// the last decides: cases without any record are returned, rows of an earlier run are marked
    /// as outdated. `older` are cases whose record is of an older version, `cut_off` the runs whose
    /// record of a case is cut off.
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
            .flat_map(|manifest| {
                manifest.selected.iter().map(|id| (id.as_str(), manifest.run_id.as_str()))
            })
            .collect();
        let places: HashMap<String, usize> = rows
            .iter()
            .enumerate()
            .map(|(place, row)| (row.record.full_id.clone(), place))
            .collect();
        let mut missing = Vec::new();
        for Run { manifest, running } in &self.runs {
            for id in &manifest.selected {
                if last[id.as_str()] != manifest.run_id {
                    continue;
                }
                let run_id = &manifest.run_id;
                let reason = if cut_off.get(id) == Some(run_id) {
                    format!("the record that run {run_id} left of this case is cut off")
                } else if running.as_ref() == Some(id) {
                    format!("run {run_id} ended while this case was running")
                } else {
                    format!("run {run_id} ended before it reached this case")
                };
                match places.get(id).map(|&place| &mut rows[place]) {
                    None => {
                        let passed_over = older.contains(id).then(|| OLDER.to_owned());
                        let reason = passed_over.unwrap_or(reason);
                        missing.push(Missing { full_id: id.clone(), reason });
                    }
                    Some(row) if row.record.run_id != manifest.run_id => {
                        let run = &row.record.run_id;
                        row.outdated = Some(format!("{reason}; this is from run {run}"));
                    }
                    Some(_) => {}
                }
            }
        }
        missing
    }
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
mod tests {
    use super::*;

    fn run(run_id: &str, warnings: &[&str]) -> Run {
        let manifest = RunManifest {
            version: RunManifest::VERSION,
            run_id: run_id.to_owned(),
            target: "inference".to_owned(),
            baseline: None,
            started: 0,
            finished: None,
            args: Vec::new(),
            checks: Vec::new(),
            warnings: warnings.iter().map(|&text| text.to_owned()).collect(),
            selected: Vec::new(),
            outcomes: BTreeMap::new(),
        };
        Run { manifest, running: None }
    }

    #[test]
    fn of_each_kind_of_warning_the_latest_runs_is_said() {
        let runs = Runs::from(vec![
            run("1", &["26 % of the slices took longer", "governor is `powersave`"]),
            run("2", &["governor is `schedutil`", "17 % of the slices took longer"]),
            run("3", &["9 % of the slices took longer"]),
        ]);
        assert_eq!(
            runs.warnings(&HashSet::from(["1", "2"])),
            [
                "17 % of the slices took longer",
                "governor is `powersave`",
                "governor is `schedutil`"
            ]
        );
    }

    #[test]
    fn of_each_check_the_worst_answer_is_kept() {
        let with = |run_id: &str, checks: Vec<Check>| {
            let mut run = run(run_id, &[]);
            run.manifest.checks = checks;
            run
        };
        let load = |status| Check::graded("load", status, status.as_str(), "stop it");
        let runs = Runs::from(vec![
            with("1", vec![Check::passed("turbo", "off"), load(CheckStatus::Failed)]),
            with("2", vec![Check::passed("turbo", "still off"), load(CheckStatus::Warning)]),
            with("3", vec![Check::graded("turbo", CheckStatus::Failed, "on", "switch it off")]),
        ]);
        assert_eq!(
            runs.checks(&HashSet::from(["1", "2"])),
            [Check::passed("turbo", "still off"), load(CheckStatus::Failed)]
        );
        assert_eq!(runs.checks(&HashSet::from(["3"]))[0].value, "on");
    }
}
