//! When to stop taking blocks.

use crate::paired::{MIN_BLOCKS, ratio};

/// Decides, block by block, whether the interval is narrow enough. It looks only now and then: each
/// look is a chance to stop at an interval that is narrow by luck.
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
