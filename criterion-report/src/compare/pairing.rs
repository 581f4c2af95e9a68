//! A case that both sides measured, and what qualifies the comparison of its times.

use plan::lockstep::LockstepCase;

use super::point::{Estimate, Point};
use super::side::SideRun;
use super::thresholds::Limits;
use crate::render::units;

/// A case in the runs of both sides that measured it.
#[derive(Debug, Clone)]
pub struct Pairing<'a> {
    pub full_id: &'a str,
    pub a: Vec<&'a Point>,
    pub b: Vec<&'a Point>,
    pub limits: Limits,
    /// Its blocks, where both sides were measured in lock-step.
    pub lockstep: Option<&'a LockstepCase>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Caveats {
    /// It applies to whole sides: runs do not average it out.
    pub systematic: Vec<String>,
    /// It happened within runs: their spread shows it where there are several.
    pub within: Vec<String>,
}

/// Clocks that differ by more than this are two machines.
const CLOCKS: f64 = 0.05;
/// More of the CPU time given to others by the hypervisor is pointed out, as it is before a run.
const STEAL: f64 = 0.01;
/// A trend as sure as this is one.
const DRIFT_P: f64 = 0.001;
/// And matters from this part of the difference on that is to be decided.
const DRIFT_SHARE: f64 = 0.5;

impl<'a> Pairing<'a> {
    /// The case with this id; the points of runs that did not measure it are left out.
    pub fn new(full_id: &'a str, a: &'a [SideRun], b: &'a [SideRun], limits: Limits) -> Self {
        let measured = |side: &'a [SideRun]| -> Vec<&'a Point> {
            let points = side.iter().filter_map(|run| run.get(full_id));
            points.filter(|point| point.is_measured()).collect()
        };
        Self { full_id, a: measured(a), b: measured(b), limits, lockstep: None }
    }

    pub fn sides(&self) -> [&[&'a Point]; 2] {
        [&self.a, &self.b]
    }

    /// Whether both sides measured it.
    pub fn is_of_both(&self) -> bool {
        self.sides().iter().all(|side| !side.is_empty())
    }

    /// Whether a side has one run with a time, and the interval of both a floor therefore.
    pub fn is_widened(&self) -> bool {
        let runs = |side: &[&Point]| times(side).iter().filter(|time| time.run.is_some()).count();
        let (a, b) = (runs(&self.a), runs(&self.b));
        a.min(b) == 1
    }

    /// Whether both sides hold the same measurement, and not one each.
    pub fn is_of_one(&self) -> bool {
        let (a, b) = (times(&self.a), times(&self.b));
        !a.is_empty() && a == b && a.iter().all(|time| time.run.is_some())
    }

    pub fn doubts(&self) -> Caveats {
        let mut doubts = Caveats::default();
        let clock = |side: &[&Point]| {
            let clocks = values(side, |it| Some(it.conditions.as_ref()?.clock_mhz?.median));
            (!clocks.is_empty()).then(|| statistics::median(&clocks))
        };
        if let [Some(a), Some(b)] = self.sides().map(clock)
            && (b / a).ln().abs() > CLOCKS.ln_1p()
        {
            doubts.systematic.push(format!("the clock ran at {a:.0} MHz in A, {b:.0} MHz in B"));
        }
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            doubts.within.extend(throttled(name, side));
            doubts.within.extend(stolen(name, side));
            doubts.within.extend(self.drifted(name, side));
        }
        doubts
    }

    fn drifted(&self, name: &str, side: &[&Point]) -> Option<String> {
        let drifts = side.iter().filter_map(|point| point.time?.drift);
        let matters = DRIFT_SHARE * self.limits.latency;
        let drifts: Vec<f64> = drifts
            .filter(|drift| drift.p < DRIFT_P && drift.change.abs() > matters)
            .map(|drift| drift.change)
            .collect();
        let worst = drifts.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
        let way = if worst > 0.0 { "rose" } else { "fell" };
        let (percent, runs) = (units::percent(worst.abs()), in_runs(drifts.len(), side.len()));
        Some(format!("samples of {name} {way} by {percent} while they were taken{runs}"))
    }
}

fn throttled(name: &str, side: &[&Point]) -> Option<String> {
    let reasons = side.iter().filter_map(|it| Some(&it.conditions.as_ref()?.throttle_reasons));
    let reasons: Vec<String> =
        reasons.map(|it| it.join(", ")).filter(|reasons| !reasons.is_empty()).collect();
    let first = reasons.first()?;
    let runs = in_runs(reasons.len(), side.len());
    Some(format!("the processor slowed itself down in {name}{runs}: {first}"))
}

fn stolen(name: &str, side: &[&Point]) -> Option<String> {
    let steals = values(side, |it| it.conditions.as_ref()?.steal.filter(|steal| *steal > STEAL));
    let worst = steals.iter().copied().max_by(f64::total_cmp)?;
    let (percent, runs) = (units::percent(worst), in_runs(steals.len(), side.len()));
    Some(format!("the hypervisor gave {percent} of the CPU time to others in {name}{runs}"))
}

/// `, in 2 of 8 runs`; of one run nothing.
fn in_runs(some: usize, all: usize) -> String {
    if all == 1 { String::new() } else { format!(" (in {some} of {all} runs)") }
}

/// The values of a side's points that have one.
pub fn values(side: &[&Point], of: impl Fn(&Point) -> Option<f64>) -> Vec<f64> {
    side.iter().filter_map(|point| of(point)).collect()
}

/// The times of a side; points without one are left out.
pub fn times(side: &[&Point]) -> Vec<Estimate> {
    side.iter().filter_map(|point| point.time).collect()
}

/// The times of a side, or an error if it has none.
pub fn some_times(place: &str, side: &[&Point]) -> Result<Vec<Estimate>, String> {
    let times = times(side);
    if !times.is_empty() {
        return Ok(times);
    }
    let reason = side.iter().find_map(|point| point.reason.as_deref());
    Err(format!("no time {place}: {}", reason.unwrap_or("the record does not say why")))
}
