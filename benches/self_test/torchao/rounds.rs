//! Two sides in turn: blocks of four batches, A B B A and B A A B, until their ratio is known.

use std::time::Duration;

use criterion_torch::measurement::stopwatch::Stopwatch;
use statistics::{MIN_BLOCKS, Ratio, Stopping, block, median, ratio};

/// No recipe should take more than this of torchao's time.
pub const ALLOWED: f64 = 1.05;

/// How a ratio lies to [`ALLOWED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// At or below it.
    Within,
    /// Above it; its interval reaches below.
    Undecided,
    /// Above it with its whole interval.
    Slower,
}

impl Verdict {
    /// The verdict on a ratio with its interval.
    pub fn from_ratio(ratio: &Ratio) -> Self {
        if ratio.low > ALLOWED {
            Self::Slower
        } else if ratio.ratio > ALLOWED {
            Self::Undecided
        } else {
            Self::Within
        }
    }
}

/// Whether more blocks might move the verdict: the interval has [`ALLOWED`] inside.
fn is_open(ratio: &Ratio) -> bool {
    ratio.low <= ALLOWED && ratio.high > ALLOWED
}

/// A timed side: ours or torchao's.
pub trait Contender {
    /// Runs `lead_in` calls that do not count, then times `calls` that do, together.
    fn time(&mut self, lead_in: u64, calls: u64) -> Result<Duration, String>;
}

/// How precise the ratio should be, and what it may cost.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// Half-width of the interval, relative to the ratio.
    pub target: f64,
    /// Wall seconds of all blocks; the fewest blocks are taken whatever they cost. Three times as
    /// many where the ratio is above what is allowed, and its interval is not.
    pub budget_s: f64,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Median over the batches, nanoseconds per call.
    pub ours_ns: f64,
    /// torchao's median over the batches, nanoseconds per call.
    pub theirs_ns: f64,
    /// Ours over torchao's.
    pub ratio: Ratio,
    /// Blocks taken.
    pub blocks: usize,
}

/// Seconds of a batch: far above the cost of waking a process, and short enough for the two sides of a block
/// to see the same machine.
pub const BATCH_S: f64 = 0.03;
/// Calls before the first batch: oneDNN and int8dq's allocations settle after about eight.
pub const WARM_UP: u64 = 10;
/// A side that waited finds its caches used by the other: this share of a batch, uncounted, before
/// each.
const LEAD_IN: u64 = 8;

/// Budgets that a case may take that is above what is allowed, and not surely so.
const PATIENCE: f64 = 3.0;

/// Compares two sides that take turns; neither runs while the other is timed.
pub fn compare(
    ours: &mut dyn Contender,
    theirs: &mut dyn Contender,
    goal: Goal,
) -> Result<Comparison, String> {
    let mut blocks = Blocks::new([ours, theirs])?;
    let mut stopping = Stopping::new(goal.target);
    loop {
        blocks.take()?;
        if stopping.is_enough(&blocks.log_ratios) || blocks.spend(goal.budget_s) {
            break;
        }
    }
    let mut ratio = blocks.ratio()?;
    if Verdict::from_ratio(&ratio) == Verdict::Undecided {
        let budget_s = PATIENCE * goal.budget_s;
        // As seldom as the stopping looks: each look is a chance to be sure by luck.
        while is_open(&ratio) && !blocks.spend(budget_s) {
            let next_look = blocks.log_ratios.len() * 3 / 2;
            while blocks.log_ratios.len() < next_look && !blocks.spend(budget_s) {
                blocks.take()?;
            }
            ratio = blocks.ratio()?;
        }
    }
    let [ours_ns, theirs_ns] = blocks.sides.map(|side| median(&side.calls_ns));
    Ok(Comparison { ours_ns, theirs_ns, ratio, blocks: blocks.log_ratios.len() })
}

/// The blocks so far.
struct Blocks<'a> {
    sides: [Batches<'a>; 2],
    wall: Stopwatch,
    log_ratios: Vec<f64>,
}

impl<'a> Blocks<'a> {
    fn new([ours, theirs]: [&'a mut dyn Contender; 2]) -> Result<Self, String> {
        let sides = [Batches::new(ours)?, Batches::new(theirs)?];
        Ok(Self { sides, wall: Stopwatch::start(), log_ratios: Vec::new() })
    }

    /// One more.
    fn take(&mut self) -> Result<(), String> {
        let first = self.log_ratios.len() % 2;
        let mut taken = [Vec::new(), Vec::new()];
        for side in [first, 1 - first, 1 - first, first] {
            taken[side].push(self.sides[side].take()?);
        }
        let [ours, theirs] = taken.map(|times| [times[0], times[1]]);
        self.log_ratios.push(block(ours, theirs));
        Ok(())
    }

    /// Whether there are enough for an interval, and another would exceed these wall seconds.
    fn spend(&self, budget_s: f64) -> bool {
        let blocks = self.log_ratios.len();
        let spent_s = self.wall.seconds();
        blocks >= MIN_BLOCKS && spent_s + spent_s / blocks as f64 > budget_s
    }

    fn ratio(&self) -> Result<Ratio, String> {
        ratio(&self.log_ratios).ok_or_else(|| "a batch took no time at all".to_owned())
    }
}

/// A side, warmed up.
struct Batches<'a> {
    side: &'a mut dyn Contender,
    /// Calls in a batch.
    calls: u64,
    /// Nanoseconds per call of each batch so far.
    calls_ns: Vec<f64>,
}

impl<'a> Batches<'a> {
    /// Warms the side up, and finds how many of its calls make a batch.
    fn new(side: &'a mut dyn Contender) -> Result<Self, String> {
        let (mut lead_in, mut calls) = (WARM_UP, 1);
        loop {
            let taken_s = side.time(lead_in, calls)?.as_secs_f64();
            let in_batch = BATCH_S / (taken_s / calls as f64);
            if taken_s >= BATCH_S / 2.0 {
                return Ok(Self {
                    side,
                    calls: (in_batch.round() as u64).max(1),
                    calls_ns: Vec::new(),
                });
            }
            // Few calls tell little of how long one is.
            calls = (in_batch.min(10.0 * calls as f64) as u64).max(calls + 1);
            lead_in = 0;
        }
    }

    /// Nanoseconds per call of one more batch.
    fn take(&mut self) -> Result<f64, String> {
        let taken = self.side.time(self.calls.div_ceil(LEAD_IN), self.calls)?;
        let call_ns = taken.as_nanos() as f64 / self.calls as f64;
        self.calls_ns.push(call_ns);
        Ok(call_ns)
    }
}
