//! How weights are stored, and read a quarter at a time.

use super::lanes::{Lanes, QUARTER};

/// Weights in a block of 4-bit numbers, four quarters.
pub const BLOCK: usize = 4 * QUARTER;

/// How the weight is stored.
pub trait Format {
    /// Bytes of a quarter.
    const BYTES: usize;
    /// Whether the weight has groups at all; a scale per row otherwise.
    const GROUPED: bool;

    /// A quarter (0 to 3) of a block.
    ///
    /// # Safety
    /// The contract of [`Lanes::u4`] and [`Lanes::i8`]; `block` is a whole one.
    unsafe fn quarter<L: Lanes>(block: *const u8, quarter: usize) -> L::Quarter;

    /// A quarter that follows the last whole block.
    ///
    /// # Safety
    /// The contract of [`Lanes::u4`] and [`Lanes::i8`]; [`Self::BYTES`] can be read at `quarter`.
    unsafe fn tail<L: Lanes>(quarter: *const u8) -> L::Quarter;
}

/// 4 bits, as the [layout](super) has them.
#[derive(Debug, Clone, Copy)]
pub struct U4;

impl Format for U4 {
    const BYTES: usize = QUARTER / 2;
    const GROUPED: bool = true;

    #[inline(always)]
    unsafe fn quarter<L: Lanes>(block: *const u8, quarter: usize) -> L::Quarter {
        // SAFETY: the caller's promise.
        unsafe { L::u4(block, quarter) }
    }

    #[inline(always)]
    unsafe fn tail<L: Lanes>(quarter: *const u8) -> L::Quarter {
        // SAFETY: the caller's 16 bytes.
        let bytes = unsafe { &*quarter.cast::<[u8; QUARTER / 2]>() };
        let mut values = [0; QUARTER];
        for (lane, byte) in bytes.iter().enumerate() {
            let (even, odd) = ((byte & 15) as i8 - 8, (byte >> 4) as i8 - 8);
            if L::SPLITS_PAIRS {
                (values[lane], values[lane + QUARTER / 2]) = (even, odd);
            } else {
                (values[2 * lane], values[2 * lane + 1]) = (even, odd);
            }
        }
        // SAFETY: 32 bytes of this frame.
        unsafe { L::i8(values.as_ptr()) }
    }
}

/// 8 bits with a sign, in order; one scale per row.
#[derive(Debug, Clone, Copy)]
pub struct I8;

impl Format for I8 {
    const BYTES: usize = QUARTER;
    const GROUPED: bool = false;

    #[inline(always)]
    unsafe fn quarter<L: Lanes>(block: *const u8, quarter: usize) -> L::Quarter {
        // SAFETY: 32 bytes of the block begin there.
        unsafe { L::i8(block.add(quarter * Self::BYTES).cast()) }
    }

    #[inline(always)]
    unsafe fn tail<L: Lanes>(quarter: *const u8) -> L::Quarter {
        // SAFETY: the caller's 32 bytes.
        unsafe { L::i8(quarter.cast()) }
    }
}
