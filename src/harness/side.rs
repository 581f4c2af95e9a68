//! One side of a pair: how long its batches are, and when it is back at its own pace.

use std::time::Duration;

use statistics::{median, quantile, sample_iters};

use super::clock::Timing;
use super::pilot::Pilot;
use crate::refusal::Refusal;

/// From this wall time of a step on, refilling a cache is not worth a step of its own.
pub const LONG_STEP_S: f64 = 0.25;
/// A side is back when a step takes at most this much of what it takes alone.
const BACK: f64 = 1.02;
/// A side gets no faster when the median of a window of steps is hardly below that of those before.
const HARDLY: f64 = 0.98;
/// Steps in a window, and in one of steps that take at least as many nanoseconds: what these read is in
/// the cache after one or two of them.
const WINDOW: usize = 4;
const WINDOW_OF_LONG: usize = 2;
const LONG_NS: f64 = 1e6;
/// Most steps that are spent on it at once, and most wall seconds beside the first step.
const MOST_UNCOUNTED: usize = 64;
const UNCOUNTED_S: f64 = 0.05;
/// Seconds of batches of a side that has no pilot, to find out how long they are: several where they
/// are as short as what other programs take the processor for.
const TRIED_S: f64 = 0.01;

/// One of the two that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A.
    Baseline,
    /// B.
    Candidate,
}

/// The two sides, and the clock of the budget.
pub trait Sides {
    /// Times `iters` steps of one side.
    fn batch(&mut self, side: Side, iters: u64) -> Result<Timing, Refusal>;

    /// Takes what either side has left in a cache that it does not share with the host out of it.
    fn empty_cache(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Moves both sides to other memory, as if they had been built again.
    fn rebuild(&mut self) -> Result<(), Refusal>;

    /// Has the device work until its clock has settled, where that is asked for.
    fn heat_up(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Wall seconds since any fixed moment.
    fn wall(&self) -> f64;
}

/// A side's timings from before it is paired.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// The result of its pilot.
    pub pilot: Pilot,
    /// Nanoseconds of a step while it ran alone: the median of the samples that criterion took.
    pub alone_ns: f64,
}

/// A side beside the other.
#[derive(Debug, Clone)]
pub struct SideTiming {
    pub iters: u64,
    pub wall_s: f64,
    /// Nanoseconds of a step while the side ran alone.
    pub alone_ns: f64,
    /// Nanoseconds per step of its batches beside the other side.
    steps_ns: Vec<f64>,
    /// Times as the caller has them, where the device works beside the host.
    called_ns: Vec<f64>,
}

/// Nanoseconds per step of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    pub step_ns: f64,
    /// As its caller has it.
    pub called_ns: Option<f64>,
}

impl SideTiming {
    /// How many steps of a side make a batch: by its pilot, or tried. Other programs take the
    /// processor for milliseconds at a time, and the side with the longer batches would meet them
    /// more often; so batches are made equally long by what each side takes undisturbed.
    pub fn measure(
        sides: &mut dyn Sides,
        side: Side,
        known: Option<Known>,
    ) -> Result<Self, Refusal> {
        if let Some(Known { pilot: Pilot { wall_ns, fastest_wall_ns, .. }, alone_ns }) = known {
            let (iters, wall_s) = (sample_iters(fastest_wall_ns), wall_ns / 1e9);
            return Ok(Self::new(iters, wall_s, alone_ns));
        }
        let before = sides.wall();
        let steps = settle(sides, side, None)?;
        let wall_s = (sides.wall() - before) / steps as f64;
        let iters = sample_iters(wall_s * 1e9);
        let mut gauge = Self::new(iters, wall_s, wall_s * 1e9);
        if wall_s < LONG_STEP_S {
            // Batches say better than single steps how long one is.
            let (start, mut walls) = (sides.wall(), Vec::new());
            while walls.is_empty() || sides.wall() - start < TRIED_S {
                let before = sides.wall();
                gauge.batch(sides, side)?;
                walls.push((sides.wall() - before) / iters as f64);
            }
            gauge.alone_ns = median(&std::mem::take(&mut gauge.steps_ns));
            gauge.called_ns.clear();
            gauge.wall_s = median(&walls);
            gauge.iters = sample_iters(walls.into_iter().fold(f64::INFINITY, f64::min) * 1e9);
        }
        Ok(gauge)
    }

    const fn new(iters: u64, wall_s: f64, alone_ns: f64) -> Self {
        Self { iters, wall_s, alone_ns, steps_ns: Vec::new(), called_ns: Vec::new() }
    }

    /// Wall seconds of a batch.
    pub fn batch_s(&self) -> f64 {
        self.iters as f64 * self.wall_s
    }

    /// A timed batch.
    pub fn batch(&mut self, sides: &mut dyn Sides, side: Side) -> Result<Batch, Refusal> {
        let Timing { device, called } = sides.batch(side, self.iters)?;
        let per_step = |time: Duration| time.as_nanos() as f64 / self.iters as f64;
        let (step_ns, called_ns) = (per_step(device), called.map(per_step));
        self.steps_ns.push(step_ns);
        self.called_ns.extend(called_ns);
        Ok(Batch { step_ns, called_ns })
    }

    /// The fastest quarter of its batches beside the other side is at least as fast. NaN before there
    /// are any.
    pub fn at_best_ns(&self) -> f64 {
        let mut sorted = self.steps_ns.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        quantile(&sorted, 0.25)
    }

    /// Median of its batches beside the other side. NaN before there are any.
    pub fn beside_ns(&self) -> f64 {
        median(&self.steps_ns)
    }

    /// The time as the caller has it. NaN where the host waits for the device anyway.
    pub fn called_ns(&self) -> f64 {
        median(&self.called_ns)
    }
}

/// Steps that do not count, until the side is as fast as it is alone or gets no faster; how many
/// there were.
pub fn settle(sides: &mut dyn Sides, side: Side, alone_ns: Option<f64>) -> Result<usize, Refusal> {
    let start = sides.wall();
    let mut steps = Vec::new();
    while steps.len() < MOST_UNCOUNTED {
        let now = sides.batch(side, 1)?.device.as_nanos() as f64;
        steps.push(now);
        let is_back = alone_ns.is_some_and(|alone| now <= BACK * alone);
        if is_back || levels_off(&steps) || sides.wall() - start >= UNCOUNTED_S {
            break;
        }
    }
    Ok(steps.len())
}

/// Steps whose median tells whether a side that takes so many nanoseconds gets faster.
pub fn window(step_ns: f64) -> usize {
    if step_ns >= LONG_NS { WINDOW_OF_LONG } else { WINDOW }
}

fn levels_off(steps: &[f64]) -> bool {
    let window = steps.last().map_or(WINDOW, |step_ns| window(*step_ns));
    let Some(last) = steps.len().checked_sub(2 * window).map(|first| &steps[first..]) else {
        return false;
    };
    let (before, after) = last.split_at(window);
    median(after) >= HARDLY * median(before)
}
