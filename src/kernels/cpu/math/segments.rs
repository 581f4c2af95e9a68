//! x·P(x) for a P with P(−x) = 1 − P(x), by polynomials.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one capability is the condition of every instruction"
)]

use crate::kernels::cpu::vector::{Element, Vector};

/// A value for each segment.
pub type Row = [f32; 16];

/// −P(−t) for t from 0 on, in sixteen segments: in each of them a polynomial of t's distance from its
/// center, for bfloat16 one of t, whose largest relative error is least. The constant terms come
/// first.
#[derive(Debug)]
pub struct Segments {
    pub spacing: Spacing,
    /// Up to where the errors are those that the table states.
    pub reach: f32,
    pub centers: Row,
    pub float32: [Row; 7],
    pub float16: [Row; 5],
    pub bfloat16: [Row; 4],
}

/// Where segments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Around 0, 1, 2, … 15.
    Linear,
    /// Around the square roots of 0, 2, 4, … 30: for a tail that falls as that of e^(−t²/2), whose
    /// logarithm then changes by as much in one segment as in another.
    Square,
}

impl Spacing {
    /// Numbers whose last four bits count the segments.
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    unsafe fn index<V: Vector>(self, t: V) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            // So large that there is no room for what is between two segments.
            match self {
                Self::Linear => t.add(V::splat(1.5 * (1 << 23) as f32)),
                Self::Square => t.mul_add(t, V::splat(1.5 * (1 << 24) as f32)),
            }
        }
    }
}

impl Segments {
    /// `x·P(x)`, as exact as results of the element `E` need it, if the segments go as far as all
    /// of `x`.
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    pub unsafe fn product<V: Vector, E: Element>(&self, x: V) -> Option<V> {
        // SAFETY: the caller's promise.
        unsafe {
            let size = x.abs();
            if !V::all(size.less(V::splat(self.reach))) {
                return None;
            }
            let tail = match E::PRECISION {
                f32::MANTISSA_DIGITS => self.tail(size, &self.float32),
                half::f16::MANTISSA_DIGITS => self.tail(size, &self.float16),
                _ => self.rough_tail(size),
            };
            // P(x) = 1 − P(−x), so what is needed is x or 0, and |x|·−P(−|x|).
            Some(size.mul_add(tail, V::splat(0.0).max(x)))
        }
    }

    /// −P(−t).
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    unsafe fn tail<V: Vector, const N: usize>(&self, t: V, rows: &[Row; N]) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let index = self.spacing.index(t);
            let distance = t.sub(index.lookup(&self.centers));
            polynomial(distance, index, rows)
        }
    }

    /// −P(−t), as exact as bfloat16 needs it.
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    unsafe fn rough_tail<V: Vector>(&self, t: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { polynomial(t, self.spacing.index(t), &self.bfloat16) }
    }
}

/// A polynomial in each lane: the one of that index.
///
/// # Safety
/// The CPU has the instructions.
#[inline(always)]
unsafe fn polynomial<V: Vector, const N: usize>(x: V, index: V, rows: &[Row; N]) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = index.lookup(&rows[N - 1]);
        for row in rows[..N - 1].iter().rev() {
            sum = sum.mul_add(x, index.lookup(row));
        }
        sum
    }
}

/// What is called on a path is rare there, for all that the compiler knows.
#[cold]
pub fn rare() {}
