//! A case and its baseline as the two sides of a pair, and what the record keeps of it.

use std::time::Duration;

use plan::{Pair, Stop};
use statistics::CONFIDENCE_LEVEL;

use super::case_run::CaseRun;
use super::clock::Stopwatch;
use super::pairs::{self, Goal, Paired, Side, Sides};
use super::timer::Timer;
use crate::refusal::Refusal;

/// Baseline and candidate under one timer.
pub struct Pairing<'a> {
    /// The group's.
    pub timer: &'a mut Timer,
    /// What the candidate is compared with.
    pub baseline: &'a mut CaseRun,
    /// What is compared.
    pub candidate: &'a mut CaseRun,
}

struct Both<'a> {
    pairing: Pairing<'a>,
    wall: Stopwatch,
    /// Whose step failed.
    failed: Option<Side>,
}

impl Pairing<'_> {
    /// Takes blocks until their interval is within `target`, or `budget_s` seconds are over.
    ///
    /// # Errors
    /// Those of a step, with the side that failed.
    pub fn run(self, target: f64, budget_s: f64) -> Result<Paired, String> {
        let pilots = [self.baseline.pilot, self.candidate.pilot];
        let goal = Goal { target, budget_s, pilots };
        let mut both = Both { pairing: self, wall: Stopwatch::start(), failed: None };
        pairs::run(&mut both, goal).map_err(|refusal| match both.failed {
            Some(Side::Baseline) => format!("its baseline, in turn with it: {refusal}"),
            _ => format!("in turn with its baseline: {refusal}"),
        })
    }
}

impl Sides for Both<'_> {
    fn batch(&mut self, side: Side, iters: u64) -> Result<Duration, Refusal> {
        let Pairing { timer, baseline, candidate } = &mut self.pairing;
        let run = match side {
            Side::Baseline => &mut **baseline,
            Side::Candidate => &mut **candidate,
        };
        let taken = timer.time(&mut run.subject, iters);
        self.failed = taken.is_err().then_some(side);
        taken
    }

    fn wall(&self) -> f64 {
        self.wall.seconds()
    }
}

/// The record's form of what was paired.
///
/// # Errors
/// Why there is no speed-up.
pub fn record(against: String, paired: Paired, target: f64) -> Result<Pair, String> {
    let Paired { ratio, log_ratios, batches_per_block, iters, reached, seconds } = paired;
    let ratio = ratio.ok_or_else(|| {
        "as long as the case itself took was too short for an interval beside its baseline; a \
         larger `sampling.measurement_s` gives more time"
            .to_owned()
    })?;
    Ok(Pair {
        against,
        speedup: ratio.ratio,
        low: ratio.low,
        high: ratio.high,
        confidence_level: CONFIDENCE_LEVEL,
        log_ratios,
        iters,
        batches_per_block,
        target,
        stopped: if reached { Stop::Target } else { Stop::Budget },
        seconds,
    })
}
