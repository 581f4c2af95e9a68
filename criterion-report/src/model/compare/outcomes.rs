//! How cases ended on both sides, whatever their measures say.

use std::collections::HashMap;

use super::asked::Asked;
use super::finding::Finding;
use super::pairing::{Pairing, times};
use super::point::{Point, two_hosts};
use super::side::Side;
use super::verdict::{Measure, Verdict};

/// How cases ended on both sides, and what B's runs were asked for.
pub(super) struct Outcomes<'a> {
    a: &'a Side,
    b: &'a Side,
    hosts: Hosts,
    words: Words,
    /// The cases that each of B's runs was asked for.
    asked: Vec<HashMap<&'a str, Asked<'a>>>,
}

/// The treatment of a case that was measured on two machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// Nothing is compared at all.
    Refused,
    /// It is not compared, and the others are.
    Apart,
    /// It is compared, with a caution.
    Across,
}

/// The names of the sides in reasons.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    a: &'static str,
    absent: &'static str,
    gone: &'static str,
}

impl Words {
    pub const SIDES: Self = Self {
        a: "A",
        absent: "B has no record of it",
        gone: "B's latest run no longer has it; there is a record of an earlier run",
    };
    /// B is what there is now, and A an earlier time.
    pub const NOW: Self = Self {
        a: "the baseline",
        absent: "there is no record of it now",
        gone: "the latest run no longer has it; there is a record of an earlier run",
    };
}

impl<'a> Outcomes<'a> {
    pub fn of(a: &'a Side, b: &'a Side, hosts: Hosts, words: Words) -> Self {
        let asked = b.runs.iter().map(|run| run.asked()).collect();
        Self { a, b, hosts, words, asked }
    }

    /// The finding from a case's outcomes; `None` if every try measured it.
    pub fn finding(&self, pairing: &Pairing<'_>) -> Option<Finding> {
        let id = pairing.full_id;
        if let Some(reason) = self.apart(id) {
            return Some(Finding::new(Measure::Outcome, Verdict::NotCompared, reason));
        }
        let Words { a: name, absent, gone } = self.words;
        let a: Vec<&Point> = self.a.points_of(id).collect();
        let b: Vec<&Point> = self.b.points_of(id).collect();
        let broken = |points: &[&'a Point]| -> Vec<&'a Point> {
            points.iter().copied().filter(|point| point.is_broken()).collect()
        };
        let found = |verdict, reason: String| Some(Finding::new(Measure::Outcome, verdict, reason));
        let (broken_a, broken_b) = (broken(&a), broken(&b));
        match (pairing.a.is_empty(), pairing.b.is_empty()) {
            (false, false) => match broken_b.first() {
                Some(first) if broken_a.is_empty() => {
                    let runs = format!("in {} of {} runs", broken_b.len(), b.len());
                    found(Verdict::Regressed, format!("now {runs} {}", first.ended()))
                }
                _ => found(Verdict::Missing, lost_time(pairing)?),
            },
            (false, true) if self.is_gone(id) => self.absent(id, &pairing.a, gone),
            (false, true) => match (broken_b.first(), b.first()) {
                (Some(first), _) => found(Verdict::Regressed, format!("now {}", first.ended())),
                (None, Some(first)) => found(Verdict::Missing, first.ended()),
                (None, None) => self.absent(id, &pairing.a, absent),
            },
            (true, false) => match (broken_a.first(), a.first()) {
                (Some(first), _) => found(
                    Verdict::Improved,
                    format!("measured now; {name} has it {}", first.ended()),
                ),
                (None, Some(first)) => {
                    found(Verdict::New, format!("{name} has it {}", first.ended()))
                }
                (None, None) => found(Verdict::New, format!("{name} has no record of it")),
            },
            (true, true) if self.is_gone(id) => found(Verdict::NotCompared, gone.to_owned()),
            (true, true) => {
                let reason = match (a.first(), b.first()) {
                    (Some(_), Some(last)) => last.ended(),
                    (None, Some(last)) => format!("{}; {name} has no record of it", last.ended()),
                    (Some(last), None) => format!("{absent}; {name} has it {}", last.ended()),
                    (None, None) => return None,
                };
                found(Verdict::NotCompared, reason)
            }
        }
    }

    /// A case that A measured and B does not have: it may not have been asked for.
    fn absent(&self, id: &str, a: &[&Point], reason: &str) -> Option<Finding> {
        let passed_over = self.asked.iter().find_map(|asked| {
            asked.get(plan::target_of(id)).and_then(|asked| asked.passed_over(id))
        });
        let of_a = || format!("{}'s latest run did not select it", self.words.a);
        let excuse = passed_over.or_else(|| a.iter().all(|it| it.earlier).then(of_a));
        Some(match excuse {
            Some(excuse) => Finding::new(Measure::Outcome, Verdict::NotCompared, excuse),
            None => Finding::new(Measure::Outcome, Verdict::Missing, reason),
        })
    }

    /// Whether what B has of a case is not to be judged by its numbers.
    pub fn is_out(&self, id: &str) -> bool {
        self.is_gone(id) || self.apart(id).is_some()
    }

    /// Why a case of two machines is not compared, where the others are.
    fn apart(&self, id: &str) -> Option<String> {
        if self.hosts != Hosts::Apart || self.is_gone(id) {
            return None;
        }
        let (then, now) = two_hosts(self.a.points_of(id).chain(self.b.points_of(id)))?;
        Some(format!("{} is of another machine: {then}; this is {now}", self.words.a))
    }

    /// Whether what B has of a case is of earlier runs than the latest, which would have selected it if
    /// it were still there.
    fn is_gone(&self, id: &str) -> bool {
        let mut points = self.b.runs.iter().filter_map(|run| run.get(id)).peekable();
        let excused = || {
            self.asked.iter().any(|asked| {
                asked.get(plan::target_of(id)).is_some_and(|asked| asked.passed_over(id).is_some())
            })
        };
        points.peek().is_some() && points.all(|point| point.earlier) && !excused()
    }
}

/// Why no run of B has a time, where one of A has.
fn lost_time(pairing: &Pairing<'_>) -> Option<String> {
    if times(&pairing.a).is_empty() || !times(&pairing.b).is_empty() {
        return None;
    }
    let reason = pairing.b.iter().find_map(|point| point.reason.as_deref());
    Some(format!("it has no time any more: {}", reason.unwrap_or("the record does not say why")))
}
