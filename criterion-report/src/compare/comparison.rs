//! Two sides, compared case by case.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::{Result, bail};

use super::compared::Compared;
use super::finding::{Finding, Measure, Verdict};
use super::floor::{FloorSource, Floors};
use super::noisy;
use super::outcomes::{Hosts, Outcomes, SideLabels};
use super::pairing::Pairing;
use super::point::{Point, two_hosts};
use super::policy::Policy;
use super::side::Side;
use super::thresholds::Thresholds;
use crate::order::Order as _;
use crate::parallel;
use crate::read::Lockstep;
use crate::render::object::document;

#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub policy: Policy,
    pub thresholds: &'a Thresholds,
    /// The noise between runs, which one run does not show.
    pub floors: Floors<'a>,
    pub hosts: Hosts,
    pub words: SideLabels,
    /// The blocks of both sides, where they were measured in lock-step.
    pub lockstep: Option<&'a Lockstep>,
}

#[derive(Debug, Clone)]
pub struct Comparison {
    pub policy: Policy,
    pub thresholds: Thresholds,
    /// The side that is compared with.
    pub a: SideFacts,
    /// The side that is judged.
    pub b: SideFacts,
    /// All cases, in the order of A, those of B alone behind.
    pub cases: Vec<Compared>,
    /// Number of cases of which both sides hold the same measurement, and not one each.
    pub same: usize,
    /// Floors that sides of one run were widened by, with the number of cases of each kind.
    pub floors: BTreeMap<FloorSource, usize>,
}

document! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SideFacts = new(side: &Side) [
        owned = |texts: BTreeSet<&str>| texts.into_iter().map(str::to_owned).collect();
    ] {
        /// Its name, as it was asked for.
        pub name: String = side.name.clone(),
        /// Names of its runs.
        #[serde(rename = "launches")]
        pub runs: Vec<String> = side.runs.iter().map(|run| run.name.clone()).collect(),
        /// Revisions of its measured cases, each once.
        pub revisions: Vec<String> = owned(side.revisions()),
        /// Environment variables that steer the libraries and were set, each list once.
        pub variables: Vec<String> = owned(side.variables()),
        /// Machines of its measured cases, each once.
        pub hosts: Vec<String> = owned(side.hosts()),
    }
}

pub fn compare(a: &Side, b: &Side, settings: Settings<'_>) -> Result<Comparison> {
    let ids = ids(a, b);
    if settings.hosts == Hosts::Refused {
        ids.iter().try_for_each(|id| of_one_host(id, a, b))?;
    }
    let outcomes = Outcomes::new(a, b, settings.hosts, settings.words);
    let pairings: Vec<Pairing<'_>> = ids
        .iter()
        .map(|id| {
            let limits = settings.thresholds.limits_for(id);
            let lockstep = settings.lockstep.and_then(|it| it.get(id));
            let pairing = Pairing { lockstep, ..Pairing::new(id, &a.runs, &b.runs, limits) };
            if outcomes.is_out(id) { Pairing { b: Vec::new(), ..pairing } } else { pairing }
        })
        .collect();
    let both: Vec<&Pairing<'_>> = pairings.iter().filter(|it| it.is_of_both()).collect();
    let mut judged = settings.policy.judge(&both, settings.floors).into_iter();
    let found: Vec<Option<Vec<Finding>>> =
        pairings.iter().map(|it| if it.is_of_both() { judged.next() } else { None }).collect();
    let cases: Vec<_> = pairings.iter().zip(found).collect();
    Ok(Comparison {
        policy: settings.policy,
        thresholds: settings.thresholds.clone(),
        a: SideFacts::new(a),
        b: SideFacts::new(b),
        cases: parallel::map_into(cases, |(pairing, found)| {
            let mut findings = found.unwrap_or_default();
            findings.extend(outcomes.finding(pairing));
            Compared::new(pairing, findings, cautions(pairing, settings), settings.policy)
        }),
        same: both.iter().filter(|pairing| pairing.is_of_one()).count(),
        floors: if settings.policy == Policy::Default {
            floors(&both, settings.floors)
        } else {
            BTreeMap::new()
        },
    })
}

impl Comparison {
    /// Whether anything was compared at all: that a case is of one side alone says nothing about a
    /// change.
    pub fn compares(&self) -> bool {
        let nothing = [Verdict::NotCompared, Verdict::New, Verdict::Missing];
        self.cases.iter().any(|case| case.findings.iter().any(|it| !nothing.contains(&it.verdict)))
    }

    /// Number of cases all of whose measures are as they were.
    pub fn unchanged(&self) -> usize {
        let is =
            |case: &&Compared| case.findings.iter().all(|it| it.verdict == Verdict::Equivalent);
        self.cases.iter().filter(is).count()
    }

    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }

    /// Cases with a verdict, the largest difference first.
    pub fn of_verdict(&self, verdict: Verdict) -> Vec<&Compared> {
        let mut cases: Vec<&Compared> =
            self.cases.iter().filter(|case| case.verdict == verdict).collect();
        let weight = |case: &Compared| case.worst().map_or((0, 0.0), Finding::weight);
        cases.order_by(|a, b| descending(weight(a), weight(b)));
        cases
    }

    /// Findings with a verdict, the largest difference first; of what was not compared in the order of
    /// the cases.
    pub fn differences(&self, verdict: Verdict) -> Vec<Difference<'_>> {
        let mut all: Vec<Difference<'_>> = Vec::new();
        for Compared { full_id, findings, .. } in &self.cases {
            let findings = findings.iter().filter(|finding| finding.verdict == verdict);
            all.extend(findings.map(|finding| Difference { full_id, finding }));
        }
        if verdict != Verdict::NotCompared {
            all.order_by(|a, b| descending(a.finding.weight(), b.finding.weight()));
        }
        all
    }
}

/// A finding on a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference<'a> {
    pub full_id: &'a str,
    pub finding: &'a Finding,
}

fn descending((a, of_a): (u8, f64), (b, of_b): (u8, f64)) -> Ordering {
    b.cmp(&a).then(of_b.total_cmp(&of_a))
}

/// Ids of both sides, each once, those of A first.
fn ids<'a>(a: &'a Side, b: &'a Side) -> Vec<&'a str> {
    let mut known = HashSet::new();
    let points = a.runs.iter().chain(&b.runs).flat_map(|run| &run.points);
    points.map(|point| point.full_id.as_str()).filter(|id| known.insert(*id)).collect()
}

/// Refuses a case that was measured on two machines, be it on one side.
fn of_one_host(full_id: &str, a: &Side, b: &Side) -> Result<()> {
    let points = a.points_of(full_id).chain(b.points_of(full_id));
    if let Some((a, b)) = two_hosts(points.filter(|point| point.is_measured())) {
        bail!(
            "`{full_id}` was measured on two machines: {a}, and {b}\n  times of two machines \
             cannot be compared; --across-hosts compares them with a caution on each case"
        );
    }
    Ok(())
}

fn cautions(pairing: &Pairing<'_>, settings: Settings<'_>) -> Vec<String> {
    if !pairing.is_of_both() {
        return Vec::new();
    }
    let doubts = pairing.doubts();
    let mut cautions = doubts.systematic;
    cautions.extend(doubts.within);
    let hosts = |side: &[&Point]| -> Vec<String> {
        let mut hosts: Vec<String> = side.iter().filter_map(|point| point.host.clone()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    };
    let [a, b] = pairing.sides().map(hosts);
    if settings.hosts == Hosts::Across && a != b && !a.is_empty() && !b.is_empty() {
        cautions.push(format!("of two machines: {} against {}", a.join(", "), b.join(", ")));
    }
    cautions
}

/// The floors that widen sides of one run, with the number of cases.
fn floors(pairings: &[&Pairing<'_>], floors: Floors<'_>) -> BTreeMap<FloorSource, usize> {
    let mut used = BTreeMap::new();
    for pairing in pairings.iter().filter(|pairing| pairing.is_widened()) {
        let source = noisy::floor(pairing, floors, Measure::Time).source;
        *used.entry(source).or_insert(0) += 1;
    }
    used
}
