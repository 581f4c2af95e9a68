//! A candidate and its baseline, measured in turn.
//!
//! Two medians from two moments carry whatever drifted between the moments (clock frequency, heat,
//! other programs). So the two sides run in short batches, one after the other, and only batches
//! that are neighbours in time are compared.
//!
//! The order of a block (A is the baseline, B the candidate):
//! 1. on a GPU, the L2 is emptied: what B has left there may stay for ever beside the data of an A that
//!    reads it with a hint to evict it first; then steps of A that do not count, until A is as fast as
//!    it is alone: B has taken its place in the cache, and a large weight takes several steps to take it
//!    back (and of a cold case, whose data is flushed anyway, in the processor's smaller memories, of
//!    branches for one);
//! 2. a timed batch of A;
//! 3. steps of B that do not count;
//! 4. a timed batch of B;
//! 5. another timed batch of B;
//! 6. steps of A that do not count;
//! 7. another timed batch of A.
//!
//! Drift that is even over a block cancels. Every second block has the roles swapped (B A A B): the
//! second of the two inner batches follows a batch of its own side, which is a better warm-up than
//! steps that do not count, so the inner side is favoured, by 0.9 % in the median of 25 cases. A
//! build has as many blocks of either order, and the two cancel.
//!
//! After some blocks both sides are *built anew*: their tensors move to other memory. Their addresses
//! differ from run to run, and one long look at one address would not show by how much that matters. The
//! load of the machine differs from second to second, so a pair is looked at now and again ([`Pairs`]): looks
//! that are a second apart are *visits* of their own. The speed-up is the mean of the builds, and its
//! interval says where another run would find it ([`statistics::builds_ratio`]).
//!
//! The speed-up of a hot case is that of two sides each as fast as it is alone. If a cache holds only one
//! of the two, a side may not get back to its pace in the time that it is given. Then there is no
//! speed-up, but [`NoRatio::Displaced`].

use statistics::{BLOCKS_PER_BUILD, BuildsRatio, Processor, median};

use super::side::{Batch, LONG_STEP_S, SideTiming, settle, window};
pub use super::side::{Known, Side, Sides};
use crate::refusal::Refusal;

/// A side is displaced when a step takes this much of what it takes alone, and the other side is
/// not slowed down as much: a busy machine slows both.
const DISPLACED: f64 = 1.15;
/// A shorter step reads less than a core's own cache holds, which is refilled at once.
const SHORT_NS: f64 = 20e3;
/// Seconds for which a side runs alone to find out.
const ALONE_S: f64 = 0.25;
/// Wall seconds that the fewest blocks may take whatever the budget.
pub(super) const GRANTED_S: f64 = 2.0;
/// How much longer blocks take with the steps that do not count.
const SETTLING: f64 = 2.0;
/// Fewest builds: one does not show how much builds differ, nor do two blocks what blocks do.
const FEWEST_BUILDS: usize = 2;
/// Most builds: beyond, other processes say more.
const MOST_BUILDS: usize = 12;
/// Most blocks of a build: more would not narrow the interval.
const MOST_BLOCKS: usize = 6;
/// Numbers of builds after which the interval is checked. Each check is a chance to stop at one that
/// is narrow by luck, so there are few; two builds are too often alike.
const CHECKS: [usize; 5] = [3, 4, 6, 8, 12];
/// Seconds from one visit to the next: builds closer together share what the machine does just then.
const APART_S: f64 = 1.0;

use Side::{Baseline, Candidate};

/// How precise the ratio should be, what it may cost, and what is known before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Half-width of the interval, relative to the ratio.
    pub target: f64,
    /// Wall seconds.
    pub budget_s: f64,
    /// Whether the time is shared by all pairs of the run, so that the caller decides when it is over.
    pub is_shared: bool,
    /// Baseline and candidate, where they have been sampled.
    pub known: [Option<Known>; 2],
    /// The processor that both sides run on.
    pub on: Processor,
}

/// Why there is no ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoRatio {
    /// The time does not suffice for the fewest builds of the fewest blocks.
    TooShort,
    /// A side is slower beside the other than alone.
    Displaced {
        /// The slower side.
        side: Side,
        /// Nanoseconds of a step in its batches.
        beside_ns: f64,
        /// Nanoseconds of a step alone, just now.
        alone_ns: f64,
    },
}

/// The blocks that were taken, and what they say.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// The baseline's time over the candidate's.
    pub ratio: Result<BuildsRatio, NoRatio>,
    /// ln of that, of each block, build after build.
    pub log_ratios: Vec<f64>,
    /// The ratio of the times that callers have, of the same blocks, where the device works beside the host.
    pub called: Option<Called>,
    /// Builds of both sides, each of as many blocks.
    pub builds: usize,
    /// Visits in which they were taken: a second apart at least.
    pub visits: usize,
    /// Steps per timed batch of baseline and candidate.
    pub iters: (u64, u64),
    /// Median nanoseconds of a step of baseline and candidate in the timed batches.
    pub steps_ns: (f64, f64),
    /// Whether the interval is as narrow as the goal.
    pub reached: bool,
    /// Wall seconds, including the steps that do not count and the building.
    pub seconds: f64,
}

/// A ratio of the times that callers have.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    pub ratio: BuildsRatio,
    /// ln of it, of each block.
    pub log_ratios: Vec<f64>,
    /// Median nanoseconds of a step of baseline and candidate.
    pub steps_ns: (f64, f64),
}

/// Takes blocks, look after look, until the interval is narrow enough or the budget is spent.
pub fn run(sides: &mut dyn Sides, goal: Goal) -> Result<Paired, Refusal> {
    let mut pairs = Pairs::first(sides, goal)?;
    while pairs.wants_more() {
        pairs.look(sides)?;
    }
    pairs.found(sides)
}

/// Blocks of two sides, which are looked at now and again.
#[derive(Debug, Clone)]
pub struct Pairs {
    goal: Goal,
    gauges: [SideTiming; 2],
    /// Whether a side that has lost its place in the cache is given steps to get back.
    settles: bool,
    log_ratios: Vec<f64>,
    /// Ratios of the times that callers have: of as many blocks, or of none.
    called_log_ratios: Vec<f64>,
    builds: usize,
    /// Blocks of each build; 0 until the first ones show how long a block is.
    per_build: usize,
    visits: usize,
    /// When the last visit began.
    visit_s: f64,
    /// Wall seconds of the longest build, and of all looks.
    longest_s: f64,
    spent_s: f64,
}

impl Pairs {
    /// The first look: the fewest builds, if there is time for them.
    pub fn first(sides: &mut dyn Sides, goal: Goal) -> Result<Self, Refusal> {
        let start = sides.wall();
        let [a, b] = goal.known;
        let gauges =
            [SideTiming::measure(sides, Baseline, a)?, SideTiming::measure(sides, Candidate, b)?];
        let settles = gauges.iter().all(|gauge| gauge.wall_s < LONG_STEP_S);
        let mut pairs = Self {
            goal,
            gauges,
            settles,
            log_ratios: Vec::new(),
            called_log_ratios: Vec::new(),
            builds: 0,
            per_build: 0,
            visits: 1,
            visit_s: start,
            longest_s: 0.0,
            spent_s: 0.0,
        };
        let batches_s = 2.0 * pairs.gauges.iter().map(SideTiming::batch_s).sum::<f64>();
        let settling = if settles { SETTLING } else { 1.0 };
        let fewest_s = settling * (FEWEST_BUILDS * BLOCKS_PER_BUILD) as f64 * batches_s;
        // A speed-up is what the case was measured for: what gives one soon is always given the time.
        let waits = goal.is_shared && goal.budget_s == 0.0;
        match !waits && fewest_s <= goal.budget_s.max(GRANTED_S) {
            true => {
                for _ in 0..FEWEST_BUILDS {
                    pairs.build(sides)?;
                }
            }
            // It may be given the time of others.
            false => pairs.longest_s = fewest_s / FEWEST_BUILDS as f64,
        }
        pairs.spent_s = sides.wall() - start;
        Ok(pairs)
    }

    /// Whether another look may narrow the interval, and there is time for one.
    pub fn wants_more(&self) -> bool {
        let has_time = self.goal.is_shared || self.spent_s + self.longest_s <= self.goal.budget_s;
        let is_begun = self.has_looks() || self.goal.is_shared;
        is_begun && self.builds < MOST_BUILDS && has_time && !self.reached()
    }

    /// Whether it has had any look.
    pub fn has_looks(&self) -> bool {
        self.builds > 0
    }

    /// Whether it is beyond doubt that the ratio is above 1, or that it is below 1.
    pub fn is_clear(&self) -> bool {
        self.ratio().is_some_and(|found| found.ratio.is_clear_of_one())
    }

    /// Wall-clock seconds of one look.
    pub fn look_s(&self) -> f64 {
        self.longest_s
    }

    /// Wall seconds that further looks may take.
    pub fn left_s(&self) -> f64 {
        if self.goal.is_shared {
            return 0.0;
        }
        if self.wants_more() { self.goal.budget_s - self.spent_s } else { 0.0 }
    }

    /// Another look at both sides, built anew.
    pub fn look(&mut self, sides: &mut dyn Sides) -> Result<(), Refusal> {
        let start = sides.wall();
        if start - self.visit_s >= APART_S {
            self.visits += 1;
            self.visit_s = start;
        }
        self.build(sides)?;
        self.spent_s += sides.wall() - start;
        Ok(())
    }

    /// The result of the looks so far.
    pub fn found(&self, sides: &mut dyn Sides) -> Result<Paired, Refusal> {
        let start = sides.wall();
        let ratio = match self.displaced(sides)? {
            _ if !self.has_looks() => Err(NoRatio::TooShort),
            Some(displaced) => Err(displaced),
            None => self.ratio().ok_or(NoRatio::TooShort),
        };
        let [a, b] = &self.gauges;
        Ok(Paired {
            ratio,
            log_ratios: self.log_ratios.clone(),
            called: self.called(),
            builds: self.builds,
            visits: self.visits,
            iters: (a.iters, b.iters),
            steps_ns: (a.beside_ns(), b.beside_ns()),
            reached: self.reached(),
            seconds: self.spent_s + (sides.wall() - start),
        })
    }

    fn ratio(&self) -> Option<BuildsRatio> {
        self.ratio_of(&self.log_ratios)
    }

    fn ratio_of(&self, log_ratios: &[f64]) -> Option<BuildsRatio> {
        statistics::builds_ratio(log_ratios, self.builds, self.visits, self.goal.on)
    }

    fn called(&self) -> Option<Called> {
        let log_ratios = self.called_log_ratios.clone();
        let ratio = self.ratio_of(&log_ratios)?;
        let [a, b] = &self.gauges;
        Some(Called { ratio, log_ratios, steps_ns: (a.called_ns(), b.called_ns()) })
    }

    /// Whether the interval is as narrow as the goal, at one of the times to ask.
    fn reached(&self) -> bool {
        let is_enough = |found: BuildsRatio| found.ratio.half_width() <= self.goal.target;
        CHECKS.contains(&self.builds) && self.ratio().is_some_and(is_enough)
    }

    /// One build, and its blocks.
    fn build(&mut self, sides: &mut dyn Sides) -> Result<(), Refusal> {
        let start = sides.wall();
        if self.builds > 0 {
            sides.rebuild()?;
        }
        let began = sides.wall();
        let (mut taken, mut called, mut warm) = (Vec::new(), Vec::new(), None);
        while taken.len() < self.per_build.max(BLOCKS_PER_BUILD) {
            let (ratio, by_callers) = self.block(sides, taken.len() % 2 == 1, &mut warm)?;
            taken.push(ratio);
            called.extend(by_callers);
            if self.per_build == 0 && taken.len() == BLOCKS_PER_BUILD {
                let block_s = (sides.wall() - began) / BLOCKS_PER_BUILD as f64;
                self.per_build = per_build(self.goal.budget_s, block_s);
            }
        }
        self.log_ratios.extend(taken);
        self.called_log_ratios.extend(called);
        self.builds += 1;
        self.longest_s = self.longest_s.max(sides.wall() - start);
        Ok(())
    }

    /// One block: ln of baseline over candidate, and of the times that callers have. `warm`: whose weights are in the cache.
    fn block(
        &mut self,
        sides: &mut dyn Sides,
        swapped: bool,
        warm: &mut Option<Side>,
    ) -> Result<(f64, Option<f64>), Refusal> {
        let (outer, inner) = if swapped { (Candidate, Baseline) } else { (Baseline, Candidate) };
        let mut timed = |side: Side| {
            let gauge = &mut self.gauges[side as usize];
            if self.settles && *warm != Some(side) {
                sides.empty_cache()?;
                settle(sides, side, Some(gauge.alone_ns))?;
            }
            *warm = Some(side);
            gauge.batch(sides, side)
        };
        let (o1, i1) = (timed(outer)?, timed(inner)?);
        let (i2, o2) = (timed(inner)?, timed(outer)?);
        let ratio = |of: &dyn Fn(Batch) -> Option<f64>| {
            let ratio = statistics::block([of(o1)?, of(o2)?], [of(i1)?, of(i2)?]);
            Some(if swapped { -ratio } else { ratio })
        };
        let of_device = ratio(&|batch| Some(batch.step_ns)).expect("every batch has a time");
        Ok((of_device, ratio(&|batch| batch.called_ns)))
    }

    /// The side that is slower beside the other than alone, if one is. Its time alone may
    /// be out of date, so it is measured again.
    fn displaced(&self, sides: &mut dyn Sides) -> Result<Option<NoRatio>, Refusal> {
        if !self.settles {
            return Ok(None);
        }
        let [a, b] = self.gauges.each_ref().map(|gauge| gauge.beside_ns() / gauge.alone_ns);
        let side = match a / b {
            ratio if ratio > DISPLACED => Baseline,
            ratio if ratio < 1.0 / DISPLACED => Candidate,
            // No batches have no ratio.
            _ => return Ok(None),
        };
        let gauge = &self.gauges[side as usize];
        if gauge.alone_ns < SHORT_NS {
            return Ok(None);
        }
        let (iters, beside_ns) = (gauge.iters, gauge.beside_ns());
        sides.empty_cache()?;
        let (start, mut alone) = (sides.wall(), Vec::new());
        while alone.len() < 2 * window(gauge.alone_ns) || sides.wall() - start < ALONE_S {
            alone.push(sides.batch(side, iters)?.device.as_nanos() as f64 / iters as f64);
        }
        // The first half brings it back.
        let alone_ns = median(&alone[alone.len() / 2..]);
        // Other programs slow some batches down, a lost cache all of them.
        let displaced = gauge.at_best_ns() > DISPLACED * alone_ns;
        Ok(displaced.then_some(NoRatio::Displaced { side, beside_ns, alone_ns }))
    }
}

/// Blocks of a build, an even number of them: more than the fewest only where the budget has room for
/// more than the most builds.
fn per_build(budget_s: f64, block_s: f64) -> usize {
    let affordable = budget_s / block_s.max(f64::MIN_POSITIVE) / MOST_BUILDS as f64;
    (affordable.min(MOST_BLOCKS as f64) as usize / 2 * 2).max(BLOCKS_PER_BUILD)
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
