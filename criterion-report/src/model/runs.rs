//! The requests of runs: which case belongs to the latest run, and which one a run did not reach.

use std::collections::{BTreeSet, HashMap, HashSet};

use plan::{Check, CheckStatus, RunManifest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::row::Row;

/// A run as it left its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The cases that it left records of: all, or those before the one that it ended in.
    fn recorded(&self) -> &[String] {
        let selected = &self.manifest.selected;
        if self.manifest.finished.is_some() {
            return selected;
        }
        let reached = self.running.as_ref().and_then(|it| selected.iter().position(|id| id == it));
        &selected[..reached.unwrap_or(0)]
    }

    /// Why a case that it selected has no record of it; none where nothing is wrong with that: its own
    /// record was replaced.
    fn without(&self, id: &str, cut_off: bool, other_record: bool) -> Option<String> {
        let RunManifest { run_id, finished, .. } = &self.manifest;
        let is_running = self.running.as_deref() == Some(id);
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// Criterion's id.
    pub full_id: String,
    /// The reason, as far as it is known.
    pub reason: String,
}

/// Why a case with a record of an older version is missing.
const OLDER: &str =
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
    pub fn of(
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
        let selected = latest.values().flat_map(|manifest| &manifest.selected).cloned().collect();
        let ids = runs.iter().flat_map(|run| &run.manifest.selected);
        let modes = ids.map(|id| plan::mode_of(id).to_owned()).collect();
        Self { runs, modes, selected }
    }

    /// All of them, the oldest first.
    pub fn all(&self) -> &[Run] {
        &self.runs
    }

    /// The latest run of the bench target that last measured a mode, whatever that run selected; of records
    /// without a run manifest none is known.
    pub fn latest(&self, mode: &str) -> Option<&RunManifest> {
        let runs = || self.runs.iter().map(|run| &run.manifest);
        let is_of_mode = |id: &String| plan::mode_of(id) == mode;
        let last = runs().rfind(|manifest| manifest.selected.iter().any(is_of_mode))?;
        runs().rfind(|manifest| manifest.target == last.target)
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

    /// The same, each with the run that found it.
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

    /// Finds what runs left without a record of their own. The last run that selected a case
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
        for run in &self.runs {
            let run_id = &run.manifest.run_id;
            for id in run.manifest.selected.iter().filter(|id| last[id.as_str()] == run_id) {
                let row = places.get(id).map(|&place| &mut rows[place]);
                if row.as_ref().is_some_and(|row| row.record.run_id == *run_id) {
                    continue;
                }
                let cut_off = cut_off.get(id) == Some(run_id);
                let Some(reason) = run.without(id, cut_off, row.is_some()) else { continue };
                match row {
                    None => {
                        let passed_over = older.contains(id).then(|| OLDER.to_owned());
                        let reason = passed_over.unwrap_or(reason);
                        missing.push(Missing { full_id: id.clone(), reason });
                    }
                    Some(row) => {
                        let run = &row.record.run_id;
                        row.outdated = Some(format!("{reason}; this is from run {run}"));
                    }
                }
            }
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
            let replaced = run.recorded().iter().filter_map(|id| written.get(id.as_str()));
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
    order.sort_by_key(|&place| runs[place].in_progress);
    let mut runs: Vec<Option<Run>> = runs.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| runs[place].take()).collect()
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
    use std::collections::BTreeMap;

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
            filter: None,
            exact: false,
            checks: Vec::new(),
            warnings: warnings.iter().map(|&text| text.to_owned()).collect(),
            selected: Vec::new(),
            outcomes: BTreeMap::new(),
        };
        Run { manifest, running: None, in_progress: false }
    }

    /// A run of the cases `selected` that is through, or ended in the case `running`.
    fn run_of(run_id: &str, selected: &[&str], running: Option<&str>) -> Run {
        let mut run = run(run_id, &[]);
        run.manifest.selected = selected.iter().map(|&id| id.to_owned()).collect();
        run.manifest.finished = running.is_none().then_some(0);
        run.running = running.map(str::to_owned);
        run
    }

    fn order(runs: &[Run], written: &[(&str, &str)]) -> Vec<String> {
        let ordered = in_order(runs.to_vec(), &written.iter().copied().collect());
        ordered.into_iter().map(|run| run.manifest.run_id).collect()
    }

    #[test]
    fn what_was_replaced_came_before_whatever_the_clock_said() {
        // The clock was set back before 1 and 2.
        let runs = [
            run_of("1", &["a", "b"], None),
            run_of("2", &["b"], None),
            run_of("9", &["a", "b", "c"], None),
        ];
        assert_eq!(order(&runs, &[("a", "1"), ("b", "2"), ("c", "9")]), ["9", "1", "2"]);
        // Nothing is known, or what is known contradicts itself.
        assert_eq!(order(&runs, &[]), ["1", "2", "9"]);
        assert_eq!(order(&runs, &[("a", "9"), ("b", "1")]).len(), 3);
    }

    #[test]
    fn a_crashed_run_has_left_records_of_the_cases_before_its_last() {
        let runs = [run_of("1", &["a", "b"], None), run_of("2", &["a", "b"], Some("b"))];
        let crashed_last = [("a", "2"), ("b", "1")];
        assert_eq!(order(&runs, &crashed_last), ["1", "2"]);
        let [whole, crashed] = runs;
        assert_eq!(order(&[crashed.clone(), whole.clone()], &crashed_last), ["1", "2"]);
        assert_eq!(order(&[whole, crashed], &[("a", "1"), ("b", "1")]), ["2", "1"]);
    }

    #[test]
    fn the_run_in_progress_is_the_last() {
        let mut runs = [run_of("1", &["a"], Some("a")), run_of("2", &["a"], None)];
        assert_eq!(order(&runs, &[("a", "2")]), ["1", "2"]);
        runs[0].in_progress = true;
        assert_eq!(order(&runs, &[("a", "2")]), ["2", "1"]);
        let reason = |cut_off, other| runs[0].without("a", cut_off, other).expect("a reason");
        assert_eq!(reason(false, true), "run 1 is in progress, at this case");
        let reason = runs[0].without("b", false, false).expect("a reason");
        assert_eq!(reason, "run 1 is in progress and has not reached this case yet");
        assert_eq!(runs[1].without("a", false, true), None);
        let reason = runs[1].without("a", false, false).expect("a reason");
        assert_eq!(reason, "run 2 ended, and there is no record of this case any more");
    }

    #[test]
    fn a_bench_target_of_several_modes_has_one_latest_run() {
        let of = |run_id: &str, target: &str, selected: &[&str]| {
            let mut run = run_of(run_id, selected, None);
            run.manifest.target = target.to_owned();
            run
        };
        let (linear, gemv) =
            ("inference/a/linear/cpu/int8wo/f32-1", "kernels/a/gemv/cpu/kernel/f32-1");
        let runs = Runs::from(vec![
            of("1", "torch", &[linear, gemv]),
            of("2", "fusion", &["fusion/a/x"]),
            of("3", "torch", &[gemv]),
        ]);
        let latest = |mode: &str| runs.latest(mode).map(|run| run.run_id.as_str());
        assert_eq!(latest("inference"), Some("3"), "it did not select what is of this mode");
        assert_eq!(
            [latest("kernels"), latest("fusion"), latest("operators")],
            [Some("3"), Some("2"), None]
        );
        assert!(runs.is_earlier(linear) && !runs.is_earlier(gemv));
        assert!(runs.is_earlier("inference/gone/linear/cpu/int8wo/f32-1"));
        assert!(!runs.is_earlier("operators/a/gelu/cpu/aten/f32-1"), "no run of it is known");
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
