//! A case and its baseline as the two sides of a pair, and what the record keeps of it.

use std::time::Duration;

use plan::{Device, Pair, Stop};
use statistics::{BuildsRatio, CONFIDENCE_LEVEL};

use super::case_run::CaseRun;
use super::clock::Stopwatch;
use super::pairs::{self, Goal, Known, NoRatio, Paired, Side, Sides};
use super::release::release;
use super::timer::Timer;
use crate::refusal::Refusal;
use crate::workload::Displaced;

/// Bytes of old memory that are kept from being handed out again, so that each build lies where none
/// has been.
const HELD_BYTES: u64 = 1 << 30;

/// Baseline and candidate under one timer.
pub struct Pairing<'a> {
    /// The group's.
    pub timer: &'a mut Timer,
    /// What the candidate is compared with.
    pub baseline: &'a mut CaseRun,
    /// What is compared.
    pub candidate: &'a mut CaseRun,
    /// Where both run.
    pub device: Device,
}

struct Both<'a> {
    pairing: Pairing<'a>,
    wall: Stopwatch,
    /// Whose step failed.
    failed: Option<Side>,
    device: Device,
    /// Where earlier builds lay.
    old: Vec<Displaced>,
}

impl Pairing<'_> {
    /// Takes blocks until their interval is within `target`, or `budget_s` seconds are over.
    ///
    /// # Errors
    /// Those of a step, with the side that failed.
    pub fn run(self, target: f64, budget_s: f64) -> Result<Paired, String> {
        let known = [&*self.baseline, &*self.candidate].map(|run| {
            let (pilot, alone_ns) = (run.pilot?, run.alone_ns?);
            Some(Known { pilot, alone_ns })
        });
        let goal = Goal { target, budget_s, known };
        let (wall, device) = (Stopwatch::start(), self.device);
        let mut both = Both { pairing: self, wall, failed: None, device, old: Vec::new() };
        pairs::run(&mut both, goal).map_err(|refusal| match both.failed {
            Some(Side::Baseline) => format!("its baseline, in turn with it: {refusal}"),
            _ => format!("in turn with its baseline: {refusal}"),
        })
    }
}

impl Sides for Both<'_> {
    fn batch(&mut self, side: Side, iters: u64) -> Result<Duration, Refusal> {
        let Pairing { timer, baseline, candidate, .. } = &mut self.pairing;
        let run = match side {
            Side::Baseline => &mut **baseline,
            Side::Candidate => &mut **candidate,
        };
        let taken = timer.time(&mut run.subject, iters);
        self.failed = taken.is_err().then_some(side);
        taken
    }

    fn rebuild(&mut self) -> Result<(), Refusal> {
        let Pairing { baseline, candidate, .. } = &self.pairing;
        // What a step allocates gets other pages, too.
        release(self.device);
        for run in [&**baseline, &**candidate] {
            self.old.extend(run.subject.workload.rebuild()?);
        }
        let mut held: u64 = self.old.iter().map(|it| it.bytes).sum();
        while held > HELD_BYTES {
            held -= self.old.remove(0).bytes;
        }
        Ok(())
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
    let Paired { ratio, log_ratios, builds, iters, steps_ns, reached, seconds } = paired;
    let BuildsRatio { ratio, within, between } = ratio.map_err(absent)?;
    Ok(Pair {
        against,
        speedup: ratio.ratio,
        low: ratio.low,
        high: ratio.high,
        confidence_level: CONFIDENCE_LEVEL,
        log_ratios,
        builds: builds as u64,
        within: Some(within),
        between: Some(between),
        iters,
        steps_ns: Some(steps_ns),
        batches_per_block: 4,
        target,
        stopped: if reached { Stop::Target } else { Stop::Budget },
        seconds,
    })
}

fn absent(why: NoRatio) -> String {
    match why {
        NoRatio::TooShort => {
            "as long as the case itself took was too short for an interval beside \
            its baseline; a larger `sampling.measurement_s` gives more time"
                .to_owned()
        }
        NoRatio::Displaced { side, beside_ns, alone_ns } => {
            let (side, other) = match side {
                Side::Baseline => ("the baseline", "this case"),
                Side::Candidate => ("this case", "the baseline"),
            };
            format!(
                "in turn with {other}, a step of {side} takes {:.1} µs, alone {:.1} µs: they compete \
                 for a cache, and {side} does not get back to its own pace; compare the two times",
                beside_ns / 1e3,
                alone_ns / 1e3
            )
        }
    }
}
