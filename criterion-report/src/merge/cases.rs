//! The record of each planned case that counts, and what is not merged.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::planned::{Plan, Planned};
use super::results::{Host, Results, SourceRecord};
use super::shards::Shards;
use crate::order::Order as _;
use crate::read::{OLDER, Run};

/// A record and the place of its folder among the results.
pub type Source<'r> = (usize, &'r SourceRecord);

#[derive(Debug)]
pub struct MergedCases<'r> {
    /// The records of the planned cases, in the plan's order, each case once.
    pub rows: Vec<Source<'r>>,
    /// The calibration of each machine, each case once, in the order of ids.
    pub calibrations: BTreeMap<&'r Host, Vec<Source<'r>>>,
    /// Planned cases without a record, each with the reason.
    pub missing: Vec<(&'r str, String)>,
    /// Records of cases that are not planned.
    pub foreign: Vec<Source<'r>>,
    /// For cases with several records, the one that counts and the others.
    pub dropped: Vec<(Source<'r>, Vec<Source<'r>>)>,
    /// Differences of the rows' builds or configs, with the folders of each value.
    pub mixed: Vec<String>,
}

/// How the record is chosen where a case has several.
pub const RULE: &str =
    "a measured one, with a time if there is one, before all others, then the latest";

impl<'r> MergedCases<'r> {
    pub fn new(plan: &'r Plan, results: &'r [Results], shards: &Shards) -> Self {
        let sources = || {
            let each = results.iter().enumerate();
            each.flat_map(|(place, of)| of.records.values().map(move |found| (place, found)))
        };
        let mut found: HashMap<&str, Vec<Source<'_>>> = HashMap::new();
        for source in sources() {
            found.entry(&source.1.full_id).or_default().push(source);
        }
        let selected = selected(results);
        let (mut rows, mut missing, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for planned in &plan.cases {
            let id = planned.full_id.as_str();
            let Some(mut of_case) = found.remove(id) else {
                missing.push((id, reason(planned, results, &selected, shards)));
                continue;
            };
            of_case.order_by_key(rank);
            let others = of_case.split_off(1);
            rows.push(of_case[0]);
            // A calibration is kept for each machine, so that none of it is dropped here.
            if !others.is_empty() && !of_case[0].1.is_calibration {
                dropped.push((of_case[0], others));
            }
        }
        let is_foreign =
            |(_, it): &Source<'_>| !it.is_calibration && !plan.left_out.contains(&it.full_id);
        let mut foreign: Vec<Source<'_>> =
            found.into_values().flatten().filter(is_foreign).collect();
        foreign.order_by(|(a, one), (b, other)| (&one.full_id, a).cmp(&(&other.full_id, b)));
        let calibrations = calibrations(sources().filter(|(_, it)| it.is_calibration));
        let mixed = mixed(&rows, results);
        Self { rows, calibrations, missing, foreign, dropped, mixed }
    }
}

/// A key that is the least for the record that counts. Of records that differ in nothing that counts it is that of
/// the folder that was named first.
fn rank(&(place, found): &Source<'_>) -> (bool, bool, std::cmp::Reverse<u64>, usize) {
    let has_time = matches!(found.time, Some(Ok(_)));
    (!found.is_measured, !has_time, std::cmp::Reverse(found.timestamp), place)
}

/// The records of calibration that count on each machine.
fn calibrations<'r>(
    sources: impl Iterator<Item = Source<'r>>,
) -> BTreeMap<&'r Host, Vec<Source<'r>>> {
    let mut machines: BTreeMap<&Host, BTreeMap<&str, Source<'_>>> = BTreeMap::new();
    for source in sources {
        let of_machine = machines.entry(&source.1.host).or_default();
        let known = of_machine.entry(&source.1.full_id).or_insert(source);
        if rank(&source) < rank(known) {
            *known = source;
        }
    }
    let each = machines.into_iter();
    each.map(|(host, of_machine)| (host, of_machine.into_values().collect())).collect()
}

/// The facts of the rows' origin that have several values, each with the folders of its results.
fn mixed(rows: &[Source<'_>], results: &[Results]) -> Vec<String> {
    let mut facts: BTreeMap<&str, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for (place, found) in rows {
        let folder = results[*place].folder.display();
        for (what, value) in &found.origin {
            facts.entry(what).or_default().entry(value).or_default().insert(folder.to_string());
        }
    }
    let of =
        |what, value, folders| format!("{what} {value} in {}", Vec::from_iter(folders).join(", "));
    let several = facts.into_iter().filter(|(_, values)| values.len() > 1);
    several
        .flat_map(|(what, values)| {
            values.into_iter().map(move |(value, folders)| of(what, value, folders))
        })
        .collect()
}

/// The last run that selected each case, and the place of its folder.
fn selected(results: &[Results]) -> HashMap<&str, (usize, &Run)> {
    let each = results.iter().enumerate();
    let mut runs: Vec<(usize, &Run)> =
        each.flat_map(|(place, of)| of.runs.iter().map(move |run| (place, run))).collect();
    runs.order_by_key(|(_, run)| run.manifest.started);
    let mut selected = HashMap::new();
    for (place, run) in runs {
        selected.extend(run.manifest.selected.iter().map(|id| (id.as_str(), (place, run))));
    }
    selected
}

/// Why a planned case has no record.
fn reason(
    planned: &Planned,
    results: &[Results],
    selected: &HashMap<&str, (usize, &Run)>,
    shards: &Shards,
) -> String {
    let id = planned.full_id.as_str();
    if results.iter().any(|of| of.older.contains(id)) {
        return OLDER.to_owned();
    }
    let of_run = selected.get(id).and_then(|(place, run)| {
        let cut_off = results[*place].cut_off.get(id) == Some(&run.manifest.run_id);
        let why = run.without(id, cut_off, false)?;
        Some(format!("{why} ({})", results[*place].folder.display()))
    });
    let of_shard = || {
        let index = planned.shard?;
        let target = plan::mode_of(id);
        shards.lack(target, index).then(|| format!("in shard {index} of `{target}`"))
    };
    of_run.or_else(of_shard).unwrap_or_else(|| "no run selected it".to_owned())
}
