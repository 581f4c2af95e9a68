//! Plain Rust, for any CPU; written so that compilers vectorize it.

use super::lanes::{Lanes, QUARTER};

/// [`Capability::Default`](crate::cpu::Capability::Default).
#[derive(Debug, Clone, Copy)]
pub struct Default;

/// Partial sums: four registers of four, or two of eight.
const SUMS: usize = 16;

impl Lanes for Default {
    type X = f32;
    type Quarter = [f32; QUARTER];
    type Sum = [f32; SUMS];

    const SPLITS_PAIRS: bool = true;

    #[inline(always)]
    unsafe fn zero() -> Self::Sum {
        [0.0; SUMS]
    }

    #[inline(always)]
    unsafe fn u4(block: *const u8, quarter: usize) -> Self::Quarter {
        // SAFETY: the caller's 64 bytes, as bytes.
        let block = unsafe { &*block.cast::<[[u8; 4]; 16]>() };
        let number = |nibble: u32| ((nibble & 15) as i32 - 8) as f32;
        let mut weights = [0.0; QUARTER];
        for (lane, bytes) in block.iter().enumerate() {
            let word = u32::from_le_bytes(*bytes) >> (4 * quarter);
            weights[lane] = number(word);
            weights[lane + 16] = number(word >> 16);
        }
        weights
    }

    #[inline(always)]
    unsafe fn i8(values: *const i8) -> Self::Quarter {
        // SAFETY: the caller's 32 bytes.
        let values = unsafe { &*values.cast::<[i8; QUARTER]>() };
        values.map(f32::from)
    }

    #[inline(always)]
    unsafe fn dot(weights: Self::Quarter, x: *const f32, mut sum: Self::Sum) -> Self::Sum {
        // SAFETY: the caller's 32 elements.
        let x = unsafe { &*x.cast::<[f32; QUARTER]>() };
        for (index, (weight, x)) in weights.iter().zip(x).enumerate() {
            sum[index % SUMS] += weight * x;
        }
        sum
    }

    #[inline(always)]
    unsafe fn add_scaled(sum: Self::Sum, scale: f32, mut total: Self::Sum) -> Self::Sum {
        for (total, sum) in total.iter_mut().zip(sum) {
            *total += sum * scale;
        }
        total
    }

    #[inline(always)]
    unsafe fn total(mut sum: Self::Sum) -> f32 {
        let mut width = SUMS;
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                sum[lane] += sum[lane + width];
            }
        }
        sum[0]
    }
}
