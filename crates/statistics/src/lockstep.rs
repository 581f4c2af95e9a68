//! Two revisions that were measured in lock-step: when a case is decided, and what it says then.
//!
//! A block is two pairs of fresh processes, one in the order A B, one in the order B A, of programs whose functions lie in
//! one of several layouts. Its value is ln(time of B / time of A).
//!
//! 1. A case is *explored* until its interval lies within the threshold of 1 (equivalent), or away from 1 by something like
//!    the threshold (a candidate). Looks are few, at 8, 12, 18, 27, … blocks.
//! 2. A candidate is *confirmed* by blocks of its own. They alone make its interval and its p, with one look at the end. So
//!    neither the choice of the case nor the time of the choice is part of what is reported.
//!
//! Layouts are a random effect: where they differ by more than the noise inside, the interval is that of their means.

use crate::distribution::normal_tail;
use crate::paired::{MIN_BLOCKS, Ratio, ratio, sign_flips};
use crate::quantile::{mad_sd, mean, median, sample_variance};

/// Two pairs of processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// The layout of both programs.
    pub layout: usize,
    /// Times of A and B in the pair that A began, then in the pair that B began.
    pub times: [[f64; 2]; 2],
}

impl Block {
    /// ln(B / A) of both pairs.
    fn pairs(&self) -> [f64; 2] {
        self.times.map(|[a, b]| (b / a).ln())
    }

    fn ln_ratio(&self) -> f64 {
        let [first, second] = self.pairs();
        f64::midpoint(first, second)
    }
}

/// Layouts differ if their variance is so many times that of the noise inside.
const LAYOUTS_DIFFER: f64 = 2.5;
/// A candidate's ratio is at least this part of the threshold away from 1.
const CANDIDATE: f64 = 0.75;
/// The true difference of a candidate may be smaller than it looks, because it was chosen.
const SHRINKAGE: f64 = 1.5;
/// Standard errors that the shrunk difference of a candidate is to be apart from 0 when it is confirmed.
const ERRORS: f64 = 4.0;
/// Fewest and most blocks that confirm.
const CONFIRMING: (usize, usize) = (10, 96);
/// Largest p, adjusted for all candidates, that confirms.
pub const CONFIRMED_P: f64 = 0.02;

/// The state of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its blocks do not decide it yet.
    Open,
    /// It looked different; fresh blocks are taken.
    Confirming,
    /// It needs no further blocks.
    Decided,
}

/// A case while its blocks are taken.
#[derive(Debug, Clone)]
pub struct Lockstep {
    threshold: f64,
    blocks: Vec<Block>,
    next_look: usize,
    /// The first block that confirms, and how many are needed.
    confirming: Option<(usize, usize)>,
    state: State,
}

impl Lockstep {
    /// A case in which differences up to the threshold, relative to A's time, do not matter.
    pub fn new(threshold: f64) -> Self {
        Self {
            threshold,
            blocks: Vec::new(),
            next_look: MIN_BLOCKS,
            confirming: None,
            state: State::Open,
        }
    }

    /// Adds the block that was taken.
    pub fn add(&mut self, block: Block) -> State {
        self.blocks.push(block);
        let count = self.blocks.len();
        match self.confirming {
            Some((first, needed)) => {
                if count - first >= needed {
                    self.state = State::Decided;
                }
            }
            None if count >= self.next_look => {
                self.next_look = count + count / 2;
                self.look();
            }
            None => {}
        }
        self.state
    }

    fn look(&mut self) {
        let Some(Compared { ratio, .. }) = Compared::new(&self.blocks) else { return };
        let limit = 1.0 + self.threshold;
        if ratio.low >= 1.0 / limit && ratio.high <= limit {
            self.state = State::Decided;
            return;
        }
        let away = ratio.ratio.ln().abs();
        if (ratio.low > 1.0 || ratio.high < 1.0) && away >= CANDIDATE * limit.ln() {
            let difference = (away / SHRINKAGE).max(limit.ln());
            let noise = mad_sd(&values(&self.blocks));
            let needed = (ERRORS * noise / difference).powi(2).ceil() as usize;
            let (fewest, most) = CONFIRMING;
            self.confirming = Some((self.blocks.len(), needed.clamp(fewest, most)));
            self.state = State::Confirming;
        }
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// All blocks, in their order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The first block of those that confirm, once there are as many as needed.
    pub fn confirmed_from(&self) -> Option<usize> {
        self.confirming.filter(|_| self.state == State::Decided).map(|(first, _)| first)
    }
}

/// What blocks say of two revisions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// B over A.
    pub ratio: Ratio,
    /// Two-sided p of a true ratio of 1.
    pub p: f64,
    /// Standard deviation of ln(ratio) between layouts, where it shows beside the noise.
    pub layout_sd: Option<f64>,
}

impl Compared {
    /// The comparison by these blocks; none below [`MIN_BLOCKS`].
    pub fn new(blocks: &[Block]) -> Option<Self> {
        let values = values(blocks);
        let z = sign_flips(&values);
        let ratio = ratio(&values)?;
        // A test by sign flips is nearly normal.
        let p = (2.0 * normal_tail(z.abs())).min(1.0);
        Some(Self { ratio, p, layout_sd: layout_sd(blocks) })
    }
}

/// The values that an interval is made of: the blocks', or the means of layouts that differ.
fn values(blocks: &[Block]) -> Vec<f64> {
    let all = || blocks.iter().map(Block::ln_ratio).collect::<Vec<_>>();
    let layouts: std::collections::BTreeSet<usize> = blocks.iter().map(|it| it.layout).collect();
    if layouts.len() < MIN_BLOCKS || layouts.len() == blocks.len() || layout_sd(blocks).is_none() {
        return all();
    }
    let mean_of = |layout: &usize| {
        let of = blocks.iter().filter(|it| it.layout == *layout).map(Block::ln_ratio);
        mean(&of.collect::<Vec<_>>())
    };
    layouts.iter().map(mean_of).collect()
}

/// The spread between layouts beyond the noise that the two pairs of a block show; none where it does not show.
fn layout_sd(blocks: &[Block]) -> Option<f64> {
    let several = blocks.iter().any(|it| it.layout != blocks[0].layout);
    if blocks.len() < MIN_BLOCKS || !several {
        return None;
    }
    let halves: Vec<f64> = blocks
        .iter()
        .map(|it| {
            let [first, second] = it.pairs();
            (first - second) / 2.0
        })
        .collect();
    let robust = |values: &[f64]| {
        // The variance of values without the wildest, which a disturbed process leaves.
        let (centre, sd) = (median(values), mad_sd(values));
        let clipped: Vec<f64> =
            values.iter().map(|it| it.clamp(centre - 3.0 * sd, centre + 3.0 * sd)).collect();
        sample_variance(&clipped)
    };
    let all: Vec<f64> = blocks.iter().map(Block::ln_ratio).collect();
    let (between, inside) = (robust(&all), robust(&halves));
    (between > LAYOUTS_DIFFER * inside).then(|| (between - inside).sqrt())
}
