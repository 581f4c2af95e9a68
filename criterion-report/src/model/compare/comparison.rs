//! Two sides, compared case by case.

use std::collections::{BTreeMap, HashMap, HashSet};

use thiserror::Error;

use super::asked::Asked;
use super::finding::{Compared, Finding};
use super::floor::{FloorSource, Floors};
use super::pairing::Pairing;
use super::point::Point;
use super::policy::Policy;
use super::side::Side;
use super::thresholds::Thresholds;
use super::verdict::{Measure, Verdict};

/// How to compare.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// The rule.
    pub policy: Policy,
    /// From which difference on a case is another.
    pub thresholds: &'a Thresholds,
    /// What one launch does not show.
    pub floors: Floors<'a>,
    /// Whether cases of two machines are compared.
    pub across_hosts: bool,
}

/// Two sides, compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The rule.
    pub policy: Policy,
    /// Thresholds.
    pub thresholds: Thresholds,
    /// The side that is compared with.
    pub a: SideFacts,
    /// The side that is judged.
    pub b: SideFacts,
    /// All cases, in the order of A, those of B alone behind.
    pub cases: Vec<Compared>,
    /// Floors that sides of one launch were widened by, with the number of cases of each kind.
    pub floors: BTreeMap<FloorSource, usize>,
}

/// What is known of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideFacts {
    /// As it was asked for.
    pub name: String,
    /// Names of its launches.
    pub launches: Vec<String>,
    /// Revisions, each once.
    pub revisions: Vec<String>,
    /// Machines, each once.
    pub hosts: Vec<String>,
}

impl SideFacts {
    fn of(side: &Side) -> Self {
        let owned = |texts: std::collections::BTreeSet<&str>| {
            texts.into_iter().map(str::to_owned).collect()
        };
        Self {
            name: side.name.clone(),
            launches: side.launches.iter().map(|launch| launch.name.clone()).collect(),
            revisions: owned(side.revisions()),
            hosts: owned(side.hosts()),
        }
    }
}

/// A case was measured on two machines.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{full_id}` was measured on two machines: {a}, and {b}\n  times of two machines do not compare; \
     with --across-hosts they are compared all the same, with a caution on each case"
)]
pub struct HostsDiffer {
    /// A case of both.
    pub full_id: String,
    /// A machine.
    pub a: String,
    /// The other one.
    pub b: String,
}

/// Compares B with A.
///
/// # Errors
/// When a case is of two machines, and they are not to be compared.
pub fn compare(a: &Side, b: &Side, settings: Settings<'_>) -> Result<Comparison, HostsDiffer> {
    let ids = ids(a, b);
    if !settings.across_hosts {
        ids.iter().try_for_each(|id| of_one_host(id, a, b))?;
    }
    let outcomes = Outcomes::of(a, b);
    let pairings: Vec<Pairing<'_>> = ids
        .iter()
        .map(|id| {
            let limits = settings.thresholds.of(id);
            let pairing = Pairing::of(id, &a.launches, &b.launches, limits);
            if outcomes.is_gone(id) { Pairing { b: Vec::new(), ..pairing } } else { pairing }
        })
        .collect();
    let (both, places): (Vec<Pairing<'_>>, Vec<usize>) = pairings
        .iter()
        .enumerate()
        .filter(|(_, it)| !it.a.is_empty() && !it.b.is_empty())
        .map(|(place, it)| (it.clone(), place))
        .unzip();
    let mut found = vec![Vec::new(); ids.len()];
    for (place, findings) in places.iter().zip(settings.policy.judge(&both, settings.floors)) {
        found[*place] = findings;
    }
    let cases = pairings.iter().zip(found);
    Ok(Comparison {
        policy: settings.policy,
        thresholds: settings.thresholds.clone(),
        a: SideFacts::of(a),
        b: SideFacts::of(b),
        cases: cases.map(|(it, found)| compared(it, found, &outcomes, settings)).collect(),
        floors: if settings.policy == Policy::Default {
            floors(&both, settings.floors)
        } else {
            BTreeMap::new()
        },
    })
}

impl Comparison {
    /// Number of cases with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }

    /// Cases with a verdict, the largest difference first.
    pub fn of_verdict(&self, verdict: Verdict) -> Vec<&Compared> {
        let mut cases: Vec<&Compared> =
            self.cases.iter().filter(|case| case.verdict == verdict).collect();
        let weight = |case: &Compared| case.worst().map_or(0.0, Finding::weight);
        cases.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        cases
    }
}

/// Ids of both sides, each once, those of A first.
fn ids<'a>(a: &'a Side, b: &'a Side) -> Vec<&'a str> {
    let mut known = HashSet::new();
    let points = a.launches.iter().chain(&b.launches).flat_map(|launch| &launch.points);
    points.map(|point| point.full_id.as_str()).filter(|id| known.insert(*id)).collect()
}

/// Refuses a case that was measured on two machines, be it on one side.
fn of_one_host(full_id: &str, a: &Side, b: &Side) -> Result<(), HostsDiffer> {
    let points = a.launches.iter().chain(&b.launches).filter_map(|launch| launch.get(full_id));
    let mut hosts = points.filter(|it| it.is_measured()).filter_map(|it| it.host.as_deref());
    let Some(first) = hosts.next() else { return Ok(()) };
    match hosts.find(|host| *host != first) {
        Some(other) => Err(HostsDiffer {
            full_id: full_id.to_owned(),
            a: first.to_owned(),
            b: other.to_owned(),
        }),
        None => Ok(()),
    }
}

fn compared(
    pairing: &Pairing<'_>,
    mut findings: Vec<Finding>,
    outcomes: &Outcomes<'_>,
    settings: Settings<'_>,
) -> Compared {
    findings.extend(outcomes.finding(pairing));
    Compared::of(pairing, findings, cautions(pairing, settings))
}

fn cautions(pairing: &Pairing<'_>, settings: Settings<'_>) -> Vec<String> {
    if pairing.a.is_empty() || pairing.b.is_empty() {
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
    let (a, b) = (hosts(&pairing.a), hosts(&pairing.b));
    if settings.across_hosts && a != b && !a.is_empty() && !b.is_empty() {
        cautions.push(format!("of two machines: {} against {}", a.join(", "), b.join(", ")));
    }
    cautions
}

/// What sides of one launch are widened by.
fn floors(pairings: &[Pairing<'_>], floors: Floors<'_>) -> BTreeMap<FloorSource, usize> {
    let mut used = BTreeMap::new();
    for pairing in pairings.iter().filter(|pairing| !pairing.has_launches()) {
        let host = pairing.a.iter().find_map(|point| point.host.as_deref());
        let source = floors.of(host, pairing.full_id, Measure::Time).source;
        *used.entry(source).or_insert(0) += 1;
    }
    used
}

/// How cases ended on both sides, and what B's runs were asked for.
struct Outcomes<'a> {
    a: &'a Side,
    b: &'a Side,
    /// Of each of B's launches.
    asked: Vec<HashMap<&'a str, Asked<'a>>>,
}

/// Of a record that is still there, of a case that is not.
const GONE: &str = "B's latest run no longer has it; there is a record of an earlier run";

impl<'a> Outcomes<'a> {
    fn of(a: &'a Side, b: &'a Side) -> Self {
        Self { a, b, asked: b.launches.iter().map(|launch| launch.asked()).collect() }
    }

    /// What the outcomes say of a case; nothing where it was measured whenever it was tried.
    fn finding(&self, pairing: &Pairing<'_>) -> Option<Finding> {
        let id = pairing.full_id;
        let points = |side: &'a Side| -> Vec<&'a Point> {
            side.launches.iter().filter_map(|launch| launch.get(id)).collect()
        };
        let (a, b) = (points(self.a), points(self.b));
        let broken = |points: &[&'a Point]| -> Vec<&'a Point> {
            points.iter().copied().filter(|point| point.is_broken()).collect()
        };
        let found = |verdict, reason: String| Some(Finding::new(Measure::Outcome, verdict, reason));
        let (broken_a, broken_b) = (broken(&a), broken(&b));
        match (pairing.a.is_empty(), pairing.b.is_empty()) {
            (false, false) => match broken_b.first() {
                Some(first) if broken_a.is_empty() => {
                    let launches = format!("in {} of {} launches", broken_b.len(), b.len());
                    found(Verdict::Regressed, format!("now {launches} {}", first.ended()))
                }
                _ => None,
            },
            (false, true) if self.is_gone(id) => self.absent(id, &pairing.a, GONE),
            (false, true) => match (broken_b.first(), b.first()) {
                (Some(first), _) => found(Verdict::Regressed, format!("now {}", first.ended())),
                (None, Some(first)) => found(Verdict::Missing, first.ended()),
                (None, None) => self.absent(id, &pairing.a, "B has no record of it"),
            },
            (true, false) => match (broken_a.first(), a.first()) {
                (Some(first), _) => {
                    found(Verdict::Improved, format!("measured now; A has it {}", first.ended()))
                }
                (None, Some(first)) => found(Verdict::New, format!("A has it {}", first.ended())),
                (None, None) => found(Verdict::New, "A has no record of it".to_owned()),
            },
            (true, true) => {
                let last = b.first().or(a.first())?;
                found(Verdict::NotCompared, last.ended())
            }
        }
    }

    /// A case that A measured and B does not have: it may not have been asked for.
    fn absent(&self, id: &str, a: &[&Point], reason: &str) -> Option<Finding> {
        let passed_over = self.asked.iter().find_map(|asked| {
            asked.get(plan::target_of(id)).and_then(|asked| asked.passed_over(id))
        });
        let of_a = || "A's latest run did not select it".to_owned();
        let excuse = passed_over.or_else(|| a.iter().all(|it| it.earlier).then(of_a));
        Some(match excuse {
            Some(excuse) => Finding::new(Measure::Outcome, Verdict::NotCompared, excuse),
            None => Finding::new(Measure::Outcome, Verdict::Missing, reason),
        })
    }

    /// Whether what B has of a case is of earlier runs than the latest, which would have selected it if
    /// it were still there.
    fn is_gone(&self, id: &str) -> bool {
        let mut points = self.b.launches.iter().filter_map(|launch| launch.get(id)).peekable();
        let excused = || {
            self.asked.iter().any(|asked| {
                asked.get(plan::target_of(id)).is_some_and(|asked| asked.passed_over(id).is_some())
            })
        };
        points.peek().is_some() && points.all(|point| point.earlier) && !excused()
    }
}
