//! A candidate and its baseline, measured in turn.
//!
//! Two medians from two moments carry whatever drifted between the moments (clock frequency, heat,
//! other programs). So the two sides run in short batches, one after the other, and only batches
//! that are neighbours in time are compared.
//!
//! The order of a block (A is the baseline, B the candidate):
//! 1. steps of A that do not count, until A is as fast as it is alone: B has taken its place in
//!    the cache, and a large weight takes several steps to take it back (and of a cold case, whose
//!    data is flushed anyway, in the processor's smaller memories, of branches for one);
//! 2. a timed batch of A;
//! 3. steps of B that do not count;
//! 4. a timed batch of B;
//! 5. another timed batch of B;
//! 6. steps of A that do not count;
//! 7. another timed batch of A.
//!
//! What drifts evenly over a block cancels. Every second block has the roles swapped (B A A B), so
//! that being first is no disadvantage. The steps that do not count are left out where a step is so
//! long that a cache's refill is nothing to it.
//!
//! Where the time did not suffice for the fewest blocks, each is taken for two, of one batch of each
//! side: A B and B A.

use std::time::Duration;

use statistics::{MIN_BLOCKS, Ratio, Stopping, median, sample_iters};

use super::pilot::Pilot;
use crate::refusal::Refusal;

/// From this wall time of a step on, refilling a cache is not worth a step of its own.
const LONG_STEP_S: f64 = 0.25;
/// A side is back when a step takes at most this much of what its batches take per step, or when
/// two steps running are hardly faster than the one before.
const BACK: f64 = 1.02;
const HARDLY: f64 = 0.98;
/// Most steps that are spent on it at once.
const MOST_UNCOUNTED: usize = 16;
/// Seconds of batches of a side that has no pilot, to find out how long they are: several where they
/// are as short as what other programs take the processor for.
const TRIED_S: f64 = 0.01;
/// Wall seconds that the fewest blocks may take whatever the budget.
const GRANTED_S: f64 = 2.0;
/// How much longer blocks take with the steps that do not count.
const SETTLING: f64 = 2.5;
/// Fewest blocks that give an interval, each taken for two.
const FEWEST_BLOCKS: f64 = MIN_BLOCKS as f64 / 2.0;

/// One of the two that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A.
    Baseline,
    /// B.
    Candidate,
}

use Side::{Baseline, Candidate};

/// What is compared, and the clock of the budget.
pub trait Sides {
    /// Times `iters` steps of one side.
    ///
    /// # Errors
    /// Those of a step.
    fn batch(&mut self, side: Side, iters: u64) -> Result<Duration, Refusal>;

    /// Wall seconds since any fixed moment.
    fn wall(&self) -> f64;
}

/// How precise the ratio should be, what it may cost, and what is known before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Half-width of the interval, relative to the ratio.
    pub target: f64,
    /// Wall seconds.
    pub budget_s: f64,
    /// The pilots of baseline and candidate, where they have been sampled.
    pub pilots: [Option<Pilot>; 2],
}

/// The blocks that were taken, and what they say.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// The baseline's time over the candidate's; absent with too few blocks for an interval.
    pub ratio: Option<Ratio>,
    /// ln of that, of each block.
    pub log_ratios: Vec<f64>,
    /// Steps per timed batch of baseline and candidate.
    pub iters: (u64, u64),
    /// Timed batches in a block: four, or two where the time is short.
    pub batches_per_block: u64,
    /// Whether the interval is as narrow as the goal.
    pub reached: bool,
    /// Wall seconds, of the steps that do not count too.
    pub seconds: f64,
}

/// Takes blocks until the interval is narrow enough or the budget is spent.
///
/// # Errors
/// Those of a step.
pub fn run(sides: &mut dyn Sides, goal: Goal) -> Result<Paired, Refusal> {
    let start = sides.wall();
    let [a, b] = goal.pilots;
    let a = Gauge::of(sides, Baseline, a)?;
    let b = Gauge::of(sides, Candidate, b)?;
    let settles = a.wall_s.max(b.wall_s) < LONG_STEP_S;
    let fewest_s = FEWEST_BLOCKS * 2.0 * (a.batch_s() + b.batch_s());
    // A speed-up is what the case was measured for: what gives one soon is always given the time.
    let soon = fewest_s * SETTLING <= GRANTED_S;
    // Not even begun where it cannot end well.
    let hopeless = fewest_s > goal.budget_s && !soon;
    let mut blocks = Blocks { sides, gauges: [a, b], settles, warm: None };
    let mut stopping = Stopping::new(goal.target);
    let (mut halves, mut log_ratios, mut reached) = (Vec::new(), Vec::new(), false);
    let first = blocks.sides.wall();
    while !reached && !hopeless {
        let now = blocks.sides.wall();
        let per_block = (now - first) / log_ratios.len().max(1) as f64;
        let limit_s = match (log_ratios.len() as f64) < FEWEST_BLOCKS && soon {
            true => goal.budget_s.max(GRANTED_S),
            false => goal.budget_s,
        };
        if !log_ratios.is_empty() && now - start + per_block > limit_s {
            break;
        }
        let [left, right] = blocks.take(log_ratios.len() % 2 == 1)?;
        halves.extend([left, right]);
        log_ratios.push(f64::midpoint(left, right));
        reached = stopping.is_enough(&log_ratios);
    }
    let whole = log_ratios.len() >= MIN_BLOCKS;
    // Of either order as many, so that being first favours neither side.
    halves.truncate(halves.len() / 4 * 4);
    let log_ratios = if whole { log_ratios } else { halves };
    let [a, b] = &blocks.gauges;
    Ok(Paired {
        ratio: statistics::ratio(&log_ratios),
        log_ratios,
        iters: (a.iters, b.iters),
        batches_per_block: if whole { 4 } else { 2 },
        reached,
        seconds: blocks.sides.wall() - start,
    })
}

/// What is known of a side.
struct Gauge {
    /// Steps in a batch.
    iters: u64,
    /// Wall time of a step.
    wall_s: f64,
    /// Nanoseconds per step of its batches so far.
    steps_ns: Vec<f64>,
}

impl Gauge {
    /// How many steps of a side make a batch: by its pilot, or tried. Other programs take the
    /// processor for milliseconds at a time, and the side with the longer batches would meet them
    /// more often; so batches are made equally long by what each side takes undisturbed.
    fn of(sides: &mut dyn Sides, side: Side, pilot: Option<Pilot>) -> Result<Self, Refusal> {
        if let Some(Pilot { step_ns, wall_ns, fastest_wall_ns, .. }) = pilot {
            let (iters, wall_s) = (sample_iters(fastest_wall_ns), wall_ns / 1e9);
            return Ok(Self { iters, wall_s, steps_ns: vec![step_ns] });
        }
        let before = sides.wall();
        let steps = settle(sides, side, None)?;
        let wall_s = (sides.wall() - before) / steps as f64;
        let iters = sample_iters(wall_s * 1e9);
        let mut gauge = Self { iters, wall_s, steps_ns: Vec::new() };
        if wall_s < LONG_STEP_S {
            // Batches say better than single steps how long one is.
            let (start, mut walls) = (sides.wall(), Vec::new());
            while walls.is_empty() || sides.wall() - start < TRIED_S {
                let before = sides.wall();
                gauge.batch(sides, side)?;
                walls.push((sides.wall() - before) / iters as f64);
            }
            gauge.wall_s = median(&walls);
            gauge.iters = sample_iters(walls.into_iter().fold(f64::INFINITY, f64::min) * 1e9);
        }
        Ok(gauge)
    }

    /// Wall seconds of a batch.
    fn batch_s(&self) -> f64 {
        self.iters as f64 * self.wall_s
    }

    /// A timed batch: nanoseconds per step.
    fn batch(&mut self, sides: &mut dyn Sides, side: Side) -> Result<f64, Refusal> {
        let step_ns = sides.batch(side, self.iters)?.as_nanos() as f64 / self.iters as f64;
        self.steps_ns.push(step_ns);
        Ok(step_ns)
    }

    /// What a step takes once it has the cache to itself.
    fn alone_ns(&self) -> Option<f64> {
        (!self.steps_ns.is_empty()).then(|| median(&self.steps_ns))
    }
}

/// Steps that do not count, until the side is as fast as it is alone; how many there were.
fn settle(sides: &mut dyn Sides, side: Side, alone_ns: Option<f64>) -> Result<usize, Refusal> {
    let start = sides.wall();
    let mut last = [f64::INFINITY; 2];
    for steps in 1..=MOST_UNCOUNTED {
        let now = sides.batch(side, 1)?.as_nanos() as f64;
        let is_back = alone_ns.is_some_and(|alone| now <= BACK * alone);
        let levels_off = now >= HARDLY * last[0] && last[0] >= HARDLY * last[1];
        if is_back || levels_off || sides.wall() - start >= LONG_STEP_S {
            return Ok(steps);
        }
        last = [now, last[0]];
    }
    Ok(MOST_UNCOUNTED)
}

struct Blocks<'a> {
    sides: &'a mut dyn Sides,
    gauges: [Gauge; 2],
    settles: bool,
    /// Whose weights are in the cache.
    warm: Option<Side>,
}

impl Blocks<'_> {
    /// One block: ln of baseline over candidate, of either half.
    fn take(&mut self, swapped: bool) -> Result<[f64; 2], Refusal> {
        let (outer, inner) = if swapped { (Candidate, Baseline) } else { (Baseline, Candidate) };
        let (o1, i1) = (self.timed(outer)?, self.timed(inner)?);
        let (i2, o2) = (self.timed(inner)?, self.timed(outer)?);
        let half = |outer: f64, inner: f64| {
            let ratio = statistics::block([outer, outer], [inner, inner]);
            if swapped { -ratio } else { ratio }
        };
        Ok([half(o1, i1), half(o2, i2)])
    }

    /// Nanoseconds of a step in a timed batch.
    fn timed(&mut self, side: Side) -> Result<f64, Refusal> {
        let gauge = match side {
            Baseline => &mut self.gauges[0],
            Candidate => &mut self.gauges[1],
        };
        if self.settles && self.warm != Some(side) {
            settle(self.sides, side, gauge.alone_ns())?;
        }
        self.warm = Some(side);
        gauge.batch(self.sides, side)
    }
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
