//! Launches of one revision against each other: how far they lie apart when nothing changed.

use std::collections::{BTreeMap, BTreeSet};

use statistics::{RunMedian as Median, between_variance};
use thiserror::Error;

use super::comparison::{Comparison, HostsDiffer, Settings, compare};
use super::floor::{CaseNoise, Floors, HostNoise, Profile, Sigmas};
use super::launch::Launch;
use super::noisy::energies_of;
use super::outcomes::Hosts;
use super::outcomes::Words;
use super::point::Point;
use super::policy::Policy;
use super::side::Side;
use super::thresholds::Thresholds;
use super::verdict::Verdict;
use crate::model::saved::all_runs;

/// What launches of one revision say.
#[derive(Debug, Clone, PartialEq)]
pub struct Aa {
    /// Name of the launches.
    pub name: String,
    /// Their number.
    pub launches: usize,
    /// Cases that at least two of them measured, in their order.
    pub cases: Vec<AaCase>,
    /// The machines that they are of.
    pub hosts: BTreeSet<String>,
    /// What was known, and what they add to it.
    pub profile: Profile,
    /// Pairs of two single launches.
    pub pairs: usize,
}

/// What they say of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct AaCase {
    /// Criterion's id.
    pub full_id: String,
    /// Launches that measured it.
    pub launches: usize,
    /// Standard deviation of ln(median) between them.
    pub sigma: f64,
    /// The slowest median over the fastest, less 1.
    pub spread: f64,
    /// Pairs of launches that have it.
    pub pairs: usize,
    /// Pairs that are called regressed or improved by the noise within launches alone.
    pub before: usize,
    /// The same with the floor that is known now.
    pub after: usize,
}

/// Why launches are not of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AaRefused {
    /// Nothing to compare with.
    #[error(
        "`{0}` has one launch, which shows no spread: measure several of one revision with `cargo \
         xtask bench --repeat 8 -- --save-baseline {0}`"
    )]
    OneLaunch(String),
    /// One of several was named.
    #[error(
        "`{launch}` is one launch, which shows no spread: say `{name}`, which is all of its launches; \
         if there is no other, measure several of one revision with `cargo xtask bench --repeat 8 -- \
         --save-baseline {name}`"
    )]
    OneOfSeveral {
        /// The launch as it was asked for.
        launch: String,
        /// What all launches have in common.
        name: String,
    },
    /// A folder or a file, which is one launch.
    #[error(
        "`{0}` is a file or a folder, and so one launch, which shows no spread: give the name of \
         launches in --criterion-dir, as `cargo xtask bench --repeat 8 -- --save-baseline NAME` saves \
         them"
    )]
    NoName(String),
    /// The launches are of several revisions, or of none that is known.
    #[error(
        "the launches of `{name}` are of {}: what they differ in may be the code; measure all of them \
         at one revision", text(.revisions)
    )]
    Revisions {
        /// The launches.
        name: String,
        /// Their revisions.
        revisions: Vec<String>,
    },
    /// The sources have uncommitted changes.
    #[error(
        "the launches of `{name}` are of {revision}: uncommitted changes may differ from launch to \
         launch; commit them and measure again, or take it all the same with --allow-dirty"
    )]
    Dirty {
        /// The launches.
        name: String,
        /// Their revision.
        revision: String,
    },
    /// Git knows nothing of the sources.
    #[error(
        "the records of `{0}` do not say which revision they are of: whether all launches are of the \
         same is not known; take it all the same with --allow-dirty"
    )]
    NoRevision(String),
    /// The launches are of two machines.
    #[error("{0}")]
    Hosts(String),
    /// No case was measured twice.
    #[error("no case of `{0}` has a time in two launches")]
    NoCase(String),
}

fn text(revisions: &[String]) -> String {
    format!("{} revisions ({})", revisions.len(), revisions.join(", "))
}

/// Compares the launches of a side with each other, and adds what they show to what is `known`; `date`
/// is of now.
///
/// # Errors
/// When they are not of one clean revision and machine, or one is alone.
pub fn aa(
    side: &Side,
    known: Profile,
    date: &str,
    thresholds: &Thresholds,
    allow_dirty: bool,
) -> Result<Aa, AaRefused> {
    if side.launches.len() < 2 {
        return Err(one_launch(side));
    }
    of_one_revision(side, allow_dirty)?;
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
                launches: medians.len(),
                sigma: between_variance(&medians).sqrt(),
                spread: spread(&medians),
                pairs: medians.len() * (medians.len() - 1) / 2,
                before: counted(&before, id),
                after: counted(&after, id),
            })
        })
        .collect();
    if cases.is_empty() {
        return Err(AaRefused::NoCase(side.name.clone()));
    }
    let launches = side.launches.len();
    Ok(Aa {
        name: side.name.clone(),
        launches,
        cases,
        hosts,
        profile,
        pairs: launches * (launches - 1) / 2,
    })
}

/// What to do about a side of one launch.
fn one_launch(side: &Side) -> AaRefused {
    let name = side.name.clone();
    match all_runs(&name) {
        // A baseline's only launch has its name, or is `NAME@1`.
        _ if !side.launches.iter().any(|launch| launch.name.starts_with(&name)) => {
            AaRefused::NoName(name)
        }
        Some(all) => AaRefused::OneOfSeveral { name: all.to_owned(), launch: name },
        None => AaRefused::OneLaunch(name),
    }
}

fn of_one_revision(side: &Side, allow_dirty: bool) -> Result<(), AaRefused> {
    let name = side.name.clone();
    let revisions: Vec<String> = side.revisions().into_iter().map(str::to_owned).collect();
    let measured = || side.launches.iter().flat_map(|it| &it.points).filter(|it| it.is_measured());
    match revisions.as_slice() {
        [_, _, ..] => Err(AaRefused::Revisions { name, revisions }),
        _ if allow_dirty => Ok(()),
        [revision] if revision.ends_with("-dirty") => {
            Err(AaRefused::Dirty { name, revision: revision.clone() })
        }
        _ if measured().any(|point| point.revision.is_none()) => Err(AaRefused::NoRevision(name)),
        _ => Ok(()),
    }
}

fn ids(side: &Side) -> Vec<&str> {
    let mut known = BTreeSet::new();
    let points = side.launches.iter().flat_map(|launch| &launch.points);
    points.map(|point| point.full_id.as_str()).filter(|id| known.insert(*id)).collect()
}

fn measured<'a>(side: &'a Side, id: &str) -> Vec<&'a Point> {
    let points = side.launches.iter().filter_map(|launch| launch.get(id));
    points.filter(|point| point.is_measured()).collect()
}

fn medians(side: &Side, id: &str) -> Vec<Median> {
    measured(side, id).into_iter().filter_map(|point| point.time?.launch).collect()
}

fn spread(medians: &[Median]) -> f64 {
    let ln = || medians.iter().map(|launch| launch.ln_median);
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
        let sigma =
            |launches: &[Median]| (launches.len() > 1).then(|| between_variance(launches).sqrt());
        let sigmas = Sigmas { time: sigma(&medians), energy: sigma(&energies) };
        if medians.len() > 1 {
            let others = sigmas.energy.is_some() && energies.len() != medians.len();
            let noise = CaseNoise {
                launches: medians.len(),
                energy_launches: others.then_some(energies.len()),
                sigmas,
            };
            cases.entry(host).or_default().insert(id.to_owned(), noise);
        }
    }
    let revisions: BTreeSet<String> = side.revisions().into_iter().map(str::to_owned).collect();
    let of = |cases| HostNoise::of(date, revisions.clone(), cases);
    cases.into_iter().map(|(host, cases)| (host, of(cases))).collect()
}

/// In how many pairs of launches each case is called another, by its id.
fn changed(
    side: &Side,
    thresholds: &Thresholds,
    floors: Floors<'_>,
) -> Result<BTreeMap<String, usize>, AaRefused> {
    let alone =
        |launch: &Launch| Side { name: launch.name.clone(), launches: vec![launch.clone()] };
    let alone: Vec<Side> = side.launches.iter().map(alone).collect();
    let mut changed = BTreeMap::new();
    for (place, a) in alone.iter().enumerate() {
        for b in &alone[place + 1..] {
            let settings = Settings {
                policy: Policy::Default,
                thresholds,
                floors,
                hosts: Hosts::Refused,
                words: Words::SIDES,
            };
            let comparison = compare(a, b, settings)
                .map_err(|HostsDiffer { full_id, a, b }| hosts_differ(&full_id, &a, &b))?;
            for id in differing(&comparison) {
                *changed.entry(id).or_insert(0) += 1;
            }
        }
    }
    Ok(changed)
}

fn hosts_differ(full_id: &str, a: &str, b: &str) -> AaRefused {
    AaRefused::Hosts(format!(
        "launches are of two machines: `{full_id}` was measured on {a}, and {b}; measure all of them \
         on one"
    ))
}

/// Cases whose time is called another.
fn differing(comparison: &Comparison) -> impl Iterator<Item = String> {
    use super::verdict::Measure;
    let changed = |verdict| matches!(verdict, Verdict::Regressed | Verdict::Improved);
    comparison
        .cases
        .iter()
        .filter(move |case| {
            case.of_measure(Measure::Time).is_some_and(|time| changed(time.verdict))
        })
        .map(|case| case.full_id.clone())
}
