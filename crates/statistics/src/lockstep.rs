//! Two revisions that were measured in lock-step: when a case is decided, and what it says then.
//!
//! A block is two pairs of fresh processes, one in the order A B, one in the order B A, of programs whose functions lie in
//! an order that no other block has. Its value is ln(time of B / time of A).
//!
//! 1. A case is *explored* until its interval lies within the threshold of 1 (equivalent), or away from 1 by something like
//!    the threshold (a candidate). Looks are few, at 8, 12, 18, 27, … blocks.
//! 2. A candidate is *confirmed* by blocks of its own. They alone make its interval and its p, so that the choice of the
//!    case is no part of what is reported. There are three looks at most, each after twice as many blocks, and p counts
//!    them.
//!
//! Layouts are a random effect: what they differ by is part of what blocks differ by.

use crate::distribution::normal_tail;
use crate::paired::{MIN_BLOCKS, Ratio, ratio, sign_flips};
use crate::quantile::{mad_sd, median, sample_variance};

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
/// Fewest and most blocks at the first look that may confirm.
const CONFIRMING: (usize, usize) = (12, 48);
/// Looks at the blocks that confirm, at most.
const LOOKS: usize = 3;
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

/// The blocks that confirm a difference.
#[derive(Debug, Clone, Copy)]
struct Confirming {
    first: usize,
    /// Blocks at the next look.
    needed: usize,
    looks: usize,
}

/// A case while its blocks are taken.
#[derive(Debug, Clone)]
pub struct Lockstep {
    threshold: f64,
    blocks: Vec<Block>,
    next_look: usize,
    confirming: Option<Confirming>,
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

    /// Adds the block that was taken. `candidates` is the number of cases that are to be confirmed, this one among them.
    pub fn add(&mut self, block: Block, candidates: usize) -> State {
        self.blocks.push(block);
        let count = self.blocks.len();
        match self.confirming {
            // A look that cannot confirm would only cost.
            Some(it)
                if self.state == State::Confirming
                    && count - it.first >= it.needed.max(fewest(candidates)) =>
            {
                self.confirm(it, candidates);
            }
            Some(_) => {}
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
            let needed = needed.clamp(fewest, most);
            self.confirming = Some(Confirming { first: self.blocks.len(), needed, looks: 0 });
            self.state = State::Confirming;
        }
    }

    fn confirm(&mut self, it: Confirming, candidates: usize) {
        let count = self.blocks.len() - it.first;
        let confirming = Confirming { needed: 2 * count, looks: it.looks + 1, ..it };
        self.confirming = Some(confirming);
        let Some(found) = Compared::confirming(&self.blocks[it.first..]) else { return };
        let limit = 1.0 + self.threshold;
        let is_equivalent = found.ratio.low >= 1.0 / limit && found.ratio.high <= limit;
        let is_sure = found.p * candidates.max(1) as f64 <= CONFIRMED_P;
        if is_equivalent || is_sure || confirming.looks == LOOKS {
            self.state = State::Decided;
        }
    }

    /// Whether it looked different at some time.
    pub fn is_candidate(&self) -> bool {
        self.confirming.is_some()
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// All blocks, in their order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The first block of those that confirm, once they have been looked at.
    pub fn confirmed_from(&self) -> Option<usize> {
        self.confirming.filter(|it| it.looks > 0).map(|it| it.first)
    }
}

/// The fewest blocks that confirm one of so many candidates, if all say the same.
fn fewest(candidates: usize) -> usize {
    /// The mean of blocks of one sign, over their root mean square, if they differ by half of it.
    const ALIKE: f64 = 0.9;
    let is_enough = |count: &usize| {
        let p = 2.0 * normal_tail(ALIKE * (*count as f64).sqrt());
        LOOKS as f64 * p * candidates as f64 <= CONFIRMED_P
    };
    (CONFIRMING.0..).find(is_enough).unwrap_or(CONFIRMING.0)
}

/// The comparison of two revisions by their blocks.
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
        let (z, ratio) = (sign_flips(&values), ratio(&values)?);
        // A test by sign flips is nearly normal.
        let p = (2.0 * normal_tail(z.abs())).min(1.0);
        Some(Self { ratio, p, layout_sd: layout_sd(blocks) })
    }

    /// The comparison by blocks that confirm, whose p counts the looks at them.
    pub fn confirming(blocks: &[Block]) -> Option<Self> {
        Self::new(blocks).map(|it| Self { p: (LOOKS as f64 * it.p).min(1.0), ..it })
    }
}

fn values(blocks: &[Block]) -> Vec<f64> {
    blocks.iter().map(Block::ln_ratio).collect()
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
    let (between, inside) = (robust(&values(blocks)), robust(&halves));
    (between > LAYOUTS_DIFFER * inside).then(|| (between - inside).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of one ratio with an even spread, each in a layout of its own.
    fn blocks(ratio: f64, spread: f64, count: usize) -> impl Iterator<Item = Block> {
        (0..count).map(move |index| {
            let off = spread * (((index * 7) % 5) as f64 - 2.0) / 2.0;
            Block { layout: index, times: [[1.0, ratio * off.exp()]; 2] }
        })
    }

    /// The number of blocks after which a case is decided, and the first that confirms.
    fn decided(ratio: f64, spread: f64, candidates: usize) -> (usize, Option<usize>) {
        let mut case = Lockstep::new(0.01);
        for block in blocks(ratio, spread, 500) {
            if case.add(block, candidates) == State::Decided {
                break;
            }
        }
        (case.blocks().len(), case.confirmed_from())
    }

    #[test]
    fn equal_cases_end_at_the_first_look_and_changed_ones_are_confirmed() {
        assert_eq!(decided(1.0, 0.002, 1), (8, None));
        assert_eq!(decided(1.05, 0.002, 1), (8 + 12, Some(8)));
        assert_eq!(decided(0.95, 0.002, 1), (8 + 12, Some(8)));
        assert_eq!(decided(1.05, 0.002, 30), (8 + 17, Some(8)), "among many, more is asked");
        let (blocks, confirmed_from) = decided(1.02, 0.02, 1);
        assert!(blocks > 8 + 12 && confirmed_from.is_some(), "{blocks}");
        assert_eq!(decided(1.0, 0.5, 1).0, 500, "noise alone decides nothing");
    }

    #[test]
    fn a_worked_example() {
        let same =
            |count| vec![Block { layout: 0, times: [[100.0, 110.0], [200.0, 220.0]] }; count];
        assert_eq!(Compared::new(&same(7)), None);
        let Compared { ratio, p, layout_sd } = Compared::new(&same(16)).expect("enough");
        assert!((ratio.ratio - 1.1).abs() < 1e-6 && ratio.low > 1.09 && ratio.high < 1.11);
        // Sixteen blocks of one sign: 4 standard errors, of which 2.05 count as 1.96.
        assert!((1e-4..2e-4).contains(&p), "{p}");
        assert_eq!(layout_sd, None, "of one layout nothing is known");
        let p_of_confirming = Compared::confirming(&same(16)).expect("enough").p;
        assert!((p_of_confirming / p - 3.0).abs() < 1e-9);
    }

    #[test]
    fn layouts_that_differ_show() {
        // Each ±5 % apart, with little noise inside.
        let of = |layout: usize| {
            let moved = if layout.is_multiple_of(2) { 1.05 } else { 1.0 / 1.05 };
            let noise = 1.0 + 0.001 * (layout % 3) as f64;
            Block { layout, times: [[1.0, moved * noise], [1.0, moved]] }
        };
        let all: Vec<Block> = (0..24).map(of).collect();
        let found = Compared::new(&all).expect("enough");
        let spread = found.layout_sd.expect("it shows");
        assert!((0.045..0.055).contains(&spread), "{spread}");
        assert!(found.ratio.low < 0.985 && found.ratio.high > 1.015, "{found:?}");
    }
}
