//! When to stop taking blocks.

use crate::paired::{MIN_BLOCKS, ratio};

/// Decides, block by block, whether the interval is narrow enough.
///
/// Each look at it is a chance to stop at an interval that is narrow by luck, so there are few: at
/// 8, 12, 18, 27, … blocks. The rest of that bias, one or two intervals of a hundred, is part of
/// the interval's own margin.
#[derive(Debug, Clone)]
pub struct Stopping {
    target: f64,
    next_look: usize,
}

impl Stopping {
    /// To stop at an interval whose half-width, relative to the ratio, is at most this.
    pub fn new(target_half_width: f64) -> Self {
        Self { target: target_half_width, next_look: MIN_BLOCKS }
    }

    /// Whether the blocks taken so far are enough. To be asked after every block.
    pub fn is_enough(&mut self, log_ratios: &[f64]) -> bool {
        let blocks = log_ratios.len();
        if blocks < self.next_look {
            return false;
        }
        self.next_look = blocks + blocks / 2;
        ratio(log_ratios).is_some_and(|ratio| ratio.half_width() <= self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_seldom() {
        // Equal blocks after eight wild ones: enough at any look from some number on.
        let mut stopping = Stopping::new(0.01);
        let wild = [-1.0, 1.0, -0.7, 0.7, -0.4, 0.4, -0.2, 0.2];
        let blocks: Vec<f64> = wild.into_iter().chain(std::iter::repeat_n(0.0, 92)).collect();
        let stopped = (1..=blocks.len()).find(|count| stopping.is_enough(&blocks[..*count]));
        assert_eq!(stopped, Some(18));
        assert!(ratio(&blocks[..17]).expect("enough blocks").half_width() <= 0.01);
    }

    #[test]
    fn equal_blocks_are_enough_at_once() {
        let mut stopping = Stopping::new(0.01);
        let stopped = (1..).find(|count| stopping.is_enough(&vec![0.3; *count]));
        assert_eq!(stopped, Some(MIN_BLOCKS));
    }

    #[test]
    fn a_target_of_nothing_is_never_reached() {
        let mut stopping = Stopping::new(0.0);
        let blocks: Vec<f64> = (0..100).map(|index| f64::from(index % 7)).collect();
        assert!(!(1..=100).any(|count| stopping.is_enough(&blocks[..count])));
    }
}
