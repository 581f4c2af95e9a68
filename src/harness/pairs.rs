//! A candidate and its baseline, measured in turn.
//!
//! Two medians from two moments carry whatever drifted between the moments (clock frequency, heat,
//! other programs). So the two sides run in short batches, one after the other, and only batches
//! that are neighbours in time are compared.
//!
//! The order of a block (A is the baseline, B the candidate):
//! 1. one step of A, not timed: its weights are in the cache again, as they are when A runs alone;
//! 2. a timed batch of A;
//! 3. one step of B, not timed;
//! 4. a timed batch of B;
//! 5. another timed batch of B;
//! 6. one step of A, not timed;
//! 7. another timed batch of A.
//!
//! What drifts evenly over a block cancels. Every second block has the roles swapped (B A A B).
//! The untimed steps are left out where every step starts with a flushed cache, and where a step
//! is so long that a cache's refill is nothing to it.
//!
//! Where the time does not suffice for the fewest blocks, a block is half as long: one batch of
//! each side, A B and B A in turn.

use std::time::Duration;

use statistics::{MIN_BLOCKS, Ratio, Stopping, sample_iters};

use crate::refusal::Refusal;

/// From this wall time of a step on, refilling a cache is not worth a step of its own.
const LONG_STEP_S: f64 = 0.25;

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

/// How precise the ratio should be, and what it may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Half-width of the interval, relative to the ratio.
    pub target: f64,
    /// Wall seconds.
    pub budget_s: f64,
    /// Whether steps find the cache as the step before them left it.
    pub hot: bool,
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
    /// Wall seconds.
    pub seconds: f64,
}

/// Takes blocks until the interval is narrow enough or the budget is spent.
///
/// # Errors
/// Those of a step.
pub fn run(sides: &mut dyn Sides, goal: Goal) -> Result<Paired, Refusal> {
    let start = sides.wall();
    let (a, b) = (gauge(sides, Baseline)?, gauge(sides, Candidate)?);
    let settles = goal.hot && a.wall_s.max(b.wall_s) < LONG_STEP_S;
    let left_s = goal.budget_s - (sides.wall() - start);
    let whole = MIN_BLOCKS as f64 * block_s(&a, &b, settles) <= left_s;
    let mut blocks = Blocks { iters: (a.iters, b.iters), settles, whole, warm: None, sides };
    let mut stopping = Stopping::new(goal.target);
    let (mut log_ratios, mut reached) = (Vec::new(), false);
    let first = blocks.sides.wall();
    while !reached {
        let now = blocks.sides.wall();
        let per_block = (now - first) / log_ratios.len().max(1) as f64;
        if !log_ratios.is_empty() && now - start + per_block > goal.budget_s {
            break;
        }
        log_ratios.push(blocks.take(log_ratios.len() % 2 == 1)?);
        reached = stopping.is_enough(&log_ratios);
    }
    Ok(Paired {
        ratio: statistics::ratio(&log_ratios),
        log_ratios,
        iters: blocks.iters,
        batches_per_block: if whole { 4 } else { 2 },
        reached,
        seconds: blocks.sides.wall() - start,
    })
}

/// Wall seconds of a whole block.
fn block_s(a: &Gauge, b: &Gauge, settles: bool) -> f64 {
    let side = |gauge: &Gauge| {
        let steps = 2.0 * gauge.iters as f64 + if settles { 1.0 } else { 0.0 };
        steps * gauge.wall_s
    };
    side(a) + side(b)
}

/// A side's batch.
struct Gauge {
    iters: u64,
    /// Wall time of a step.
    wall_s: f64,
}

/// Warms a side up and finds how many of its steps make a batch.
fn gauge(sides: &mut dyn Sides, side: Side) -> Result<Gauge, Refusal> {
    let mut wall_of = |iters: u64| -> Result<f64, Refusal> {
        let before = sides.wall();
        sides.batch(side, iters)?;
        Ok((sides.wall() - before) / iters as f64)
    };
    let first = wall_of(1)?;
    let wall_s = if first < LONG_STEP_S { wall_of(sample_iters(first * 1e9))? } else { first };
    Ok(Gauge { iters: sample_iters(wall_s * 1e9), wall_s })
}

struct Blocks<'a> {
    sides: &'a mut dyn Sides,
    iters: (u64, u64),
    settles: bool,
    whole: bool,
    /// Whose weights are in the cache.
    warm: Option<Side>,
}

impl Blocks<'_> {
    /// One block: ln of baseline over candidate.
    fn take(&mut self, swapped: bool) -> Result<f64, Refusal> {
        let (outer, inner) = if swapped { (Candidate, Baseline) } else { (Baseline, Candidate) };
        let (o1, i1) = (self.timed(outer)?, self.timed(inner)?);
        let (i2, o2) = if self.whole { (self.timed(inner)?, self.timed(outer)?) } else { (i1, o1) };
        let (outer, inner) = ([o1, o2], [i1, i2]);
        Ok(if swapped { statistics::block(inner, outer) } else { statistics::block(outer, inner) })
    }

    /// Nanoseconds of a step in a timed batch.
    fn timed(&mut self, side: Side) -> Result<f64, Refusal> {
        if self.settles && self.warm != Some(side) {
            self.sides.batch(side, 1)?;
        }
        self.warm = Some(side);
        let iters = match side {
            Baseline => self.iters.0,
            Candidate => self.iters.1,
        };
        Ok(self.sides.batch(side, iters)?.as_nanos() as f64 / iters as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sides of known times on a clock that only they advance.
    struct Fake {
        step_ns: (f64, f64),
        now_ns: f64,
        /// Relative growth of every time per second.
        drift: f64,
        log: Vec<(Side, u64)>,
    }

    impl Fake {
        fn new(baseline_ns: f64, candidate_ns: f64) -> Self {
            Self { step_ns: (baseline_ns, candidate_ns), now_ns: 0.0, drift: 0.0, log: Vec::new() }
        }
    }

    impl Sides for Fake {
        fn batch(&mut self, side: Side, iters: u64) -> Result<Duration, Refusal> {
            self.log.push((side, iters));
            let step = match side {
                Baseline => self.step_ns.0,
                Candidate => self.step_ns.1,
            };
            let ns = step * iters as f64 * (1.0 + self.drift * self.now_ns / 1e9);
            self.now_ns += ns;
            Ok(Duration::from_nanos(ns.round() as u64))
        }

        fn wall(&self) -> f64 {
            self.now_ns / 1e9
        }
    }

    const GOAL: Goal = Goal { target: 0.01, budget_s: 10.0, hot: true };

    #[test]
    fn a_block_is_the_two_sides_in_turn_each_settled_first() {
        let mut fake = Fake::new(9e5, 4.5e5);
        run(&mut fake, GOAL).expect("nothing fails");
        let (a, b) = ((Baseline, 3), (Candidate, 5));
        let (settle_a, settle_b) = ((Baseline, 1), (Candidate, 1));
        let gauges = [settle_a, a, settle_b, b];
        let first = [settle_a, a, settle_b, b, b, settle_a, a];
        let second = [settle_b, b, settle_a, a, a, settle_b, b];
        assert_eq!(fake.log[..18], [&gauges[..], &first, &second].concat());
    }

    #[test]
    fn a_cold_block_has_no_step_that_is_not_timed() {
        let mut fake = Fake::new(3e6, 3e6);
        run(&mut fake, Goal { hot: false, ..GOAL }).expect("nothing fails");
        let sides: Vec<Side> = fake.log[4..12].iter().map(|(side, _)| *side).collect();
        let (a, b) = (Baseline, Candidate);
        assert_eq!(sides, [a, b, b, a, b, a, a, b]);
    }

    #[test]
    fn without_noise_the_fewest_blocks_are_enough() {
        let mut fake = Fake::new(2e6, 1e6);
        let paired = run(&mut fake, GOAL).expect("nothing fails");
        assert!(paired.reached);
        assert_eq!(paired.log_ratios.len(), MIN_BLOCKS);
        let ratio = paired.ratio.expect("enough blocks");
        assert!((ratio.ratio - 2.0).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn even_drift_cancels() {
        let mut fake = Fake { drift: 0.5, ..Fake::new(2e6, 1e6) };
        let paired = run(&mut fake, GOAL).expect("nothing fails");
        let ratio = paired.ratio.expect("enough blocks");
        assert!((ratio.ratio - 2.0).abs() < 0.002, "{ratio:?}");
    }

    #[test]
    fn the_budget_is_kept() {
        // Steps of 10 ms: twelve short blocks are 48 of them with the untimed ones.
        let mut fake = Fake::new(1e7, 1e7);
        let paired = run(&mut fake, Goal { budget_s: 0.35, ..GOAL }).expect("nothing fails");
        assert!(!paired.reached && paired.ratio.is_none());
        assert!(paired.seconds <= 0.35, "{}", paired.seconds);
        assert!(paired.log_ratios.len() >= 8, "{}", paired.log_ratios.len());
    }

    #[test]
    fn long_steps_are_not_repeated_for_the_cache() {
        let mut fake = Fake { drift: 0.001, ..Fake::new(1e9, 1e9) };
        let goal = Goal { budget_s: 60.0, target: 0.0, ..GOAL };
        let paired = run(&mut fake, goal).expect("nothing fails");
        assert_eq!((paired.log_ratios.len(), paired.batches_per_block), (14, 4));
        assert_eq!(fake.log.len(), 2 + 14 * 4);
    }

    #[test]
    fn where_the_time_is_short_a_block_is_two_neighbours() {
        let mut fake = Fake::new(2e9, 1e9);
        let paired = run(&mut fake, Goal { budget_s: 40.0, ..GOAL }).expect("nothing fails");
        assert_eq!((paired.log_ratios.len(), paired.batches_per_block), (12, 2));
        let sides: Vec<Side> = fake.log[2..6].iter().map(|(side, _)| *side).collect();
        assert_eq!(sides, [Baseline, Candidate, Candidate, Baseline]);
        let ratio = paired.ratio.expect("enough blocks");
        assert!((ratio.ratio - 2.0).abs() < 1e-9, "{ratio:?}");
    }
}
