//! Runs of one revision against each other: how far they lie apart when nothing changed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, bail};
use statistics::{RunMedian, between_variance};

use super::compared::Compared;
use super::comparison::{Comparison, Settings, compare};
use super::finding::{Measure, Verdict};
use super::floor::{CaseNoise, Floors, HostNoise, Profile, Sigmas};
use super::noisy::energies_of;
use super::outcomes::{Hosts, SideLabels};
use super::point::{Point, two_hosts};
use super::policy::Policy;
use super::side::{Side, SideRun};
use super::thresholds::Thresholds;
use crate::order::Sorted as _;
use crate::read::saved::all_runs;

#[derive(Debug, Clone, PartialEq)]
pub struct Aa {
    pub name: String,
    pub runs: usize,
    /// Cases that at least two of them measured, in their order.
    pub cases: Vec<AaCase>,
    pub hosts: BTreeSet<String>,
    /// The known profile with these runs added.
    pub profile: Profile,
    /// Pairs of two single runs.
    pub pairs: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AaCase {
    pub full_id: String,
    pub runs: usize,
    /// Standard deviation of ln(median) between them.
    pub sigma: f64,
    /// The slowest median over the fastest, less 1.
    pub spread: f64,
    pub pairs: usize,
    /// Pairs that are called regressed or improved by the noise within runs alone.
    pub before: usize,
    /// Pairs called regressed or improved with the floor that is known now.
    pub after: usize,
}

/// Compares the runs of a side with each other, and adds what they show to what is `known`; `date`
/// is of now.
pub fn aa(
    side: &Side,
    known: Profile,
    date: &str,
    thresholds: &Thresholds,
    allow_dirty: bool,
) -> Result<Aa> {
    if side.runs.len() < 2 {
        return Err(one_run(side));
    }
    of_one_revision(side, allow_dirty)?;
    for id in ids(side) {
        if let Some((a, b)) = two_hosts(measured(side, id).into_iter()) {
            bail!(
                "runs are of two machines: `{id}` was measured on {a}, and {b}; measure all of \
                 them on one"
            );
        }
    }
    let mut profile = known;
    let found = hosts(side, date);
    let hosts = found.keys().cloned().collect();
    for (host, noise) in found {
        profile.add(&host, noise);
    }
    let before = changed(side, thresholds, Floors::Ignored)?;
    let after = changed(side, thresholds, Floors::Profile(Some(&profile)))?;
    let counted = |by_id: &BTreeMap<String, usize>, id: &str| by_id.get(id).copied().unwrap_or(0);
    let cases: Vec<AaCase> = ids(side)
        .into_iter()
        .filter_map(|id| {
            let medians = medians(side, id);
            (medians.len() > 1).then(|| AaCase {
                full_id: id.to_owned(),
                runs: medians.len(),
                sigma: between_variance(&medians).sqrt(),
                spread: spread(&medians),
                pairs: medians.len() * (medians.len() - 1) / 2,
                before: counted(&before, id),
                after: counted(&after, id),
            })
        })
        .collect();
    if cases.is_empty() {
        bail!("no case of `{}` has a time in two runs", side.name);
    }
    let runs = side.runs.len();
    Ok(Aa { name: side.name.clone(), runs, cases, hosts, profile, pairs: runs * (runs - 1) / 2 })
}

/// The error about a side of one run, with the remedy.
fn one_run(side: &Side) -> anyhow::Error {
    let name = &side.name;
    // A baseline's only run has its name, or is `NAME@1`.
    if !side.runs.iter().any(|run| run.name.starts_with(name)) {
        return anyhow!(
            "`{name}` is a file or a folder, and so one run, which shows no spread: give the name \
             of runs in --criterion-dir, as `cargo torch-bench bench --repeat 8 -- \
             --save-baseline NAME` saves them"
        );
    }
    match all_runs(name) {
        Some(all) => anyhow!(
            "`{name}` is one run, which shows no spread: use `{all}`, which names all of its \
             runs; if there is no other, measure several of one revision with `cargo torch-bench \
             bench --repeat 8 -- --save-baseline {all}`"
        ),
        None => anyhow!(
            "`{name}` has one run, which shows no spread: measure several of one revision with \
             `cargo torch-bench bench --repeat 8 -- --save-baseline {name}`"
        ),
    }
}

fn of_one_revision(side: &Side, allow_dirty: bool) -> Result<()> {
    let name = &side.name;
    let revisions: Vec<&str> = side.revisions().into_iter().collect();
    match revisions[..] {
        [_, _, ..] => bail!(
            "the runs of `{name}` are of {} revisions ({}): their code may differ; measure all of \
             them at one revision",
            revisions.len(),
            revisions.join(", ")
        ),
        _ if allow_dirty => Ok(()),
        [revision] if revision.ends_with("-dirty") => bail!(
            "the runs of `{name}` are of {revision}: uncommitted changes may differ from run to \
             run; commit them and measure again, or accept this with --allow-dirty"
        ),
        _ if side.measured().any(|point| point.revision.is_none()) => bail!(
            "the records of `{name}` do not say which revision they are of: the runs may be of \
             several revisions; accept this with --allow-dirty"
        ),
        _ => Ok(()),
    }
}

fn ids(side: &Side) -> Vec<&str> {
    let mut known = BTreeSet::new();
    let points = side.runs.iter().flat_map(|run| &run.points);
    points.map(|point| point.full_id.as_str()).filter(|id| known.insert(*id)).collect()
}

fn measured<'a>(side: &'a Side, id: &str) -> Vec<&'a Point> {
    side.points_of(id).filter(|point| point.is_measured()).collect()
}

fn medians(side: &Side, id: &str) -> Vec<RunMedian> {
    measured(side, id).into_iter().filter_map(|point| point.time?.run).collect()
}

fn spread(medians: &[RunMedian]) -> f64 {
    let ln = || medians.iter().map(|run| run.ln_median);
    let least = ln().fold(f64::INFINITY, f64::min);
    (ln().fold(f64::NEG_INFINITY, f64::max) - least).exp_m1()
}

/// The noise of each machine; a CUDA case's has its GPU in its name.
fn hosts(side: &Side, date: &str) -> BTreeMap<String, HostNoise> {
    let mut cases: BTreeMap<String, BTreeMap<String, CaseNoise>> = BTreeMap::new();
    for id in ids(side) {
        let points = measured(side, id);
        let Some(host) = points.iter().find_map(|point| point.host.clone()) else { continue };
        let (medians, energies) = (medians(side, id), energies_of(&points));
        let sigma = |runs: &[RunMedian]| (runs.len() > 1).then(|| between_variance(runs).sqrt());
        let sigmas = Sigmas { time: sigma(&medians), energy: sigma(&energies) };
        if medians.len() > 1 {
            let others = sigmas.energy.is_some() && energies.len() != medians.len();
            let noise = CaseNoise {
                runs: medians.len(),
                energy_runs: others.then_some(energies.len()),
                sigmas,
            };
            cases.entry(host).or_default().insert(id.to_owned(), noise);
        }
    }
    let revisions: BTreeSet<String> = side.revisions().into_iter().map(str::to_owned).sorted_set();
    let of = |cases| HostNoise::new(date, revisions.clone(), cases);
    cases.into_iter().map(|(host, cases)| (host, of(cases))).collect()
}

/// In how many pairs of runs each case is called another, by its id.
fn changed(
    side: &Side,
    thresholds: &Thresholds,
    floors: Floors<'_>,
) -> Result<BTreeMap<String, usize>> {
    let alone = |run: &SideRun| Side { name: run.name.clone(), runs: vec![run.clone()] };
    let alone: Vec<Side> = side.runs.iter().map(alone).collect();
    let mut changed = BTreeMap::new();
    for (place, a) in alone.iter().enumerate() {
        for b in &alone[place + 1..] {
            let settings = Settings {
                policy: Policy::Default,
                thresholds,
                floors,
                hosts: Hosts::Refused,
                words: SideLabels::SIDES,
                lockstep: None,
            };
            for id in differing(&compare(a, b, settings)?) {
                *changed.entry(id).or_insert(0) += 1;
            }
        }
    }
    Ok(changed)
}

/// Cases whose time is called another.
fn differing(comparison: &Comparison) -> impl Iterator<Item = String> {
    let changed = |verdict| matches!(verdict, Verdict::Regressed | Verdict::Improved);
    let time = |case: &Compared| Some(case.of_measure(Measure::Time)?.verdict);
    let cases = comparison.cases.iter().filter(move |case| time(case).is_some_and(changed));
    cases.map(|case| case.full_id.clone())
}
