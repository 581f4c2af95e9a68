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
//! Drift that is even over a block cancels. Every second block has the roles swapped (B A A B): the
//! second of the two inner batches follows a batch of its own side, which is a better warm-up than
//! steps that do not count, so the inner side is favoured, by 0.9 % in the median of 25 cases. A
//! build has as many blocks of either order, and the two cancel.
//!
//! After some blocks both sides are *built anew*: their tensors move to other memory. Where they lie
//! differs from run to run, and one long look at one place would not show by how much. The speed-up
//! is the mean of the builds, and its interval says where another run would find it
//! ([`statistics::builds_ratio`]).
//!
//! The speed-up of a hot case is that of two sides each as fast as it is alone. Where a cache holds one
//! of the two only, a side may not get back there in the time that it is given. Then there is no
//! speed-up, but [`NoRatio::Displaced`].

use std::time::Duration;

use statistics::{BLOCKS_PER_BUILD, BuildsRatio, median, sample_iters};

use super::pilot::Pilot;
use crate::refusal::Refusal;

/// From this wall time of a step on, refilling a cache is not worth a step of its own.
const LONG_STEP_S: f64 = 0.25;
/// A side is back when a step takes at most this much of what it takes alone.
const BACK: f64 = 1.02;
/// A side gets no faster when the median of so many steps is hardly below that of those before.
const WINDOW: usize = 4;
const HARDLY: f64 = 0.98;
/// Most steps that are spent on it at once, and most wall seconds beside the first step.
const MOST_UNCOUNTED: usize = 64;
const UNCOUNTED_S: f64 = 0.05;
/// A side is displaced when a step takes this much of what it takes alone, and the other side is
/// not slowed down as much: a busy machine slows both.
const DISPLACED: f64 = 1.15;
/// Seconds for which a side runs alone to find out.
const ALONE_S: f64 = 0.25;
/// Seconds of batches of a side that has no pilot, to find out how long they are: several where they
/// are as short as what other programs take the processor for.
const TRIED_S: f64 = 0.01;
/// Wall seconds that the fewest blocks may take whatever the budget.
const GRANTED_S: f64 = 2.0;
/// How much longer blocks take with the steps that do not count.
const SETTLING: f64 = 2.5;
/// Most builds: beyond, other processes say more.
const MOST_BUILDS: usize = 8;
/// Most blocks of a build: more would not narrow the interval.
const MOST_BLOCKS: usize = 6;
/// Numbers of builds after which the interval is looked at. Each look is a chance to stop at one that
/// is narrow by luck, so there are few.
const LOOKS: [usize; 5] = [2, 3, 4, 6, 8];

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

    /// Moves both sides to other memory, as if they had been built again.
    ///
    /// # Errors
    /// When memory does not suffice.
    fn rebuild(&mut self) -> Result<(), Refusal>;

    /// Wall seconds since any fixed moment.
    fn wall(&self) -> f64;
}

/// What is known of a side before it is paired.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// What its pilot found.
    pub pilot: Pilot,
    /// Nanoseconds of a step while it ran alone: the median of the samples that criterion took.
    pub alone_ns: f64,
}

/// How precise the ratio should be, what it may cost, and what is known before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Half-width of the interval, relative to the ratio.
    pub target: f64,
    /// Wall seconds.
    pub budget_s: f64,
    /// Baseline and candidate, where they have been sampled.
    pub known: [Option<Known>; 2],
}

/// Why there is no ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoRatio {
    /// The time does not suffice for a build of the fewest blocks.
    TooShort,
    /// A side is slower beside the other than alone.
    Displaced {
        /// Which one.
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
    /// Builds of both sides, each of as many blocks.
    pub builds: usize,
    /// Steps per timed batch of baseline and candidate.
    pub iters: (u64, u64),
    /// Median nanoseconds of a step of baseline and candidate in the timed batches.
    pub steps_ns: (f64, f64),
    /// Whether the interval is as narrow as the goal.
    pub reached: bool,
    /// Wall seconds, including the steps that do not count and the building.
    pub seconds: f64,
}

/// Takes blocks until the interval is narrow enough or the budget is spent.
///
/// # Errors
/// Those of a step.
pub fn run(sides: &mut dyn Sides, goal: Goal) -> Result<Paired, Refusal> {
    let start = sides.wall();
    let [a, b] = goal.known;
    let a = Gauge::of(sides, Baseline, a)?;
    let b = Gauge::of(sides, Candidate, b)?;
    let settles = a.wall_s.max(b.wall_s) < LONG_STEP_S;
    let mut blocks = Blocks { sides, gauges: [a, b], settles, warm: None };
    let mut builds = Builds { goal, start, log_ratios: Vec::new(), builds: 0, per_build: 0 };
    let reached = builds.take(&mut blocks)?;
    let Builds { log_ratios, builds, .. } = builds;
    let ratio = match blocks.displaced()? {
        _ if builds == 0 => Err(NoRatio::TooShort),
        Some(displaced) => Err(displaced),
        None => statistics::builds_ratio(&log_ratios, builds).ok_or(NoRatio::TooShort),
    };
    let [a, b] = &blocks.gauges;
    Ok(Paired {
        ratio,
        log_ratios,
        builds,
        iters: (a.iters, b.iters),
        steps_ns: (a.beside_ns(), b.beside_ns()),
        reached,
        seconds: blocks.sides.wall() - start,
    })
}

/// Builds and blocks within the budget.
struct Builds {
    goal: Goal,
    start: f64,
    log_ratios: Vec<f64>,
    builds: usize,
    /// Blocks of each build; 0 until the first ones show how long a block is.
    per_build: usize,
}

impl Builds {
    /// Takes all blocks; whether the interval is as narrow as the goal.
    fn take(&mut self, blocks: &mut Blocks<'_>) -> Result<bool, Refusal> {
        let fewest_s = BLOCKS_PER_BUILD as f64 * blocks.batches_s();
        // A speed-up is what the case was measured for: what gives one soon is always given the time.
        let soon = fewest_s * SETTLING <= GRANTED_S;
        if fewest_s > self.goal.budget_s && !soon {
            return Ok(false);
        }
        let granted_s = if soon { GRANTED_S } else { 0.0 };
        let mut longest_s = 0.0_f64;
        while self.builds < MOST_BUILDS {
            let began = blocks.sides.wall();
            // Two builds are the fewest that show how much builds differ.
            let limit_s = match self.builds {
                0 | 1 => self.goal.budget_s.max(granted_s),
                _ => self.goal.budget_s,
            };
            if self.builds > 0 && began - self.start + longest_s > limit_s {
                break;
            }
            self.build(blocks)?;
            longest_s = longest_s.max(blocks.sides.wall() - began);
            if LOOKS.contains(&self.builds) && self.is_enough() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One build, and its blocks.
    fn build(&mut self, blocks: &mut Blocks<'_>) -> Result<(), Refusal> {
        if self.builds > 0 {
            blocks.rebuild()?;
        }
        let began = blocks.sides.wall();
        let mut taken = Vec::new();
        while taken.len() < self.per_build.max(BLOCKS_PER_BUILD) {
            taken.push(blocks.take(taken.len() % 2 == 1)?);
            if self.per_build == 0 && taken.len() == BLOCKS_PER_BUILD {
                let block_s = (blocks.sides.wall() - began) / BLOCKS_PER_BUILD as f64;
                self.per_build = per_build(self.goal.budget_s, block_s);
            }
        }
        self.log_ratios.extend(taken);
        self.builds += 1;
        Ok(())
    }

    fn is_enough(&self) -> bool {
        let found = statistics::builds_ratio(&self.log_ratios, self.builds);
        found.is_some_and(|found| found.ratio.half_width() <= self.goal.target)
    }
}

/// Blocks of a build, an even number of them: more than the fewest only where the budget has room for
/// more than the most builds.
fn per_build(budget_s: f64, block_s: f64) -> usize {
    let affordable = budget_s / block_s.max(f64::MIN_POSITIVE) / MOST_BUILDS as f64;
    (affordable.min(MOST_BLOCKS as f64) as usize / 2 * 2).max(BLOCKS_PER_BUILD)
}

/// What is known of a side.
struct Gauge {
    /// Steps in a batch.
    iters: u64,
    /// Wall time of a step.
    wall_s: f64,
    /// Nanoseconds of a step while the side ran alone.
    alone_ns: f64,
    /// Nanoseconds per step of its batches beside the other side.
    steps_ns: Vec<f64>,
}

impl Gauge {
    /// How many steps of a side make a batch: by its pilot, or tried. Other programs take the
    /// processor for milliseconds at a time, and the side with the longer batches would meet them
    /// more often; so batches are made equally long by what each side takes undisturbed.
    fn of(sides: &mut dyn Sides, side: Side, known: Option<Known>) -> Result<Self, Refusal> {
        if let Some(Known { pilot: Pilot { wall_ns, fastest_wall_ns, .. }, alone_ns }) = known {
            let (iters, wall_s) = (sample_iters(fastest_wall_ns), wall_ns / 1e9);
            return Ok(Self { iters, wall_s, alone_ns, steps_ns: Vec::new() });
        }
        let before = sides.wall();
        let steps = settle(sides, side, None)?;
        let wall_s = (sides.wall() - before) / steps as f64;
        let iters = sample_iters(wall_s * 1e9);
        let mut gauge = Self { iters, wall_s, alone_ns: wall_s * 1e9, steps_ns: Vec::new() };
        if wall_s < LONG_STEP_S {
            // Batches say better than single steps how long one is.
            let (start, mut walls) = (sides.wall(), Vec::new());
            while walls.is_empty() || sides.wall() - start < TRIED_S {
                let before = sides.wall();
                gauge.batch(sides, side)?;
                walls.push((sides.wall() - before) / iters as f64);
            }
            gauge.alone_ns = median(&std::mem::take(&mut gauge.steps_ns));
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

    /// Median of its batches beside the other side. NaN before there are any.
    fn beside_ns(&self) -> f64 {
        median(&self.steps_ns)
    }
}

/// Steps that do not count, until the side is as fast as it is alone or gets no faster; how many
/// there were.
fn settle(sides: &mut dyn Sides, side: Side, alone_ns: Option<f64>) -> Result<usize, Refusal> {
    let start = sides.wall();
    let mut steps = Vec::new();
    while steps.len() < MOST_UNCOUNTED {
        let now = sides.batch(side, 1)?.as_nanos() as f64;
        steps.push(now);
        let is_back = alone_ns.is_some_and(|alone| now <= BACK * alone);
        if is_back || levels_off(&steps) || sides.wall() - start >= UNCOUNTED_S {
            break;
        }
    }
    Ok(steps.len())
}

fn levels_off(steps: &[f64]) -> bool {
    let Some(last) = steps.len().checked_sub(2 * WINDOW).map(|first| &steps[first..]) else {
        return false;
    };
    let (before, after) = last.split_at(WINDOW);
    median(after) >= HARDLY * median(before)
}

struct Blocks<'a> {
    sides: &'a mut dyn Sides,
    gauges: [Gauge; 2],
    settles: bool,
    /// Whose weights are in the cache.
    warm: Option<Side>,
}

impl Blocks<'_> {
    /// Wall seconds of the timed batches of a block.
    fn batches_s(&self) -> f64 {
        2.0 * self.gauges.iter().map(Gauge::batch_s).sum::<f64>()
    }

    fn rebuild(&mut self) -> Result<(), Refusal> {
        self.warm = None;
        self.sides.rebuild()
    }

    /// One block: ln of baseline over candidate.
    fn take(&mut self, swapped: bool) -> Result<f64, Refusal> {
        let (outer, inner) = if swapped { (Candidate, Baseline) } else { (Baseline, Candidate) };
        let (o1, i1) = (self.timed(outer)?, self.timed(inner)?);
        let (i2, o2) = (self.timed(inner)?, self.timed(outer)?);
        let ratio = statistics::block([o1, o2], [i1, i2]);
        Ok(if swapped { -ratio } else { ratio })
    }

    /// Nanoseconds of a step in a timed batch.
    fn timed(&mut self, side: Side) -> Result<f64, Refusal> {
        let gauge = &mut self.gauges[side as usize];
        if self.settles && self.warm != Some(side) {
            settle(self.sides, side, Some(gauge.alone_ns))?;
        }
        self.warm = Some(side);
        gauge.batch(self.sides, side)
    }

    /// The side that is slower beside the other than alone, if one is. What it took alone before may
    /// be out of date, so it is asked again.
    fn displaced(&mut self) -> Result<Option<NoRatio>, Refusal> {
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
        let (iters, beside_ns) = (gauge.iters, gauge.beside_ns());
        let (start, mut alone) = (self.sides.wall(), Vec::new());
        while alone.len() < 2 * WINDOW || self.sides.wall() - start < ALONE_S {
            alone.push(self.sides.batch(side, iters)?.as_nanos() as f64 / iters as f64);
        }
        // The first half brings it back.
        let alone_ns = median(&alone[alone.len() / 2..]);
        let displaced = beside_ns > DISPLACED * alone_ns;
        Ok(displaced.then_some(NoRatio::Displaced { side, beside_ns, alone_ns }))
    }
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
