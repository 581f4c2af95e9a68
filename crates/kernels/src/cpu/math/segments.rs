//! x·P(x) for a P with P(−x) = 1 − P(x), by polynomials.

use crate::cpu::vector::{Element, Table, Vector};

/// −P(−t) for t from 0 on, in sixteen segments: in each of them a polynomial of t's distance from its
/// center, for bfloat16 one of t, whose largest relative error is least. The constant terms come
/// first.
///
/// Segments are around 0, 1, 2, … 15; or around the square roots of 0, 2, 4, … 30, for a tail that
/// falls as that of e^(−t²/2): its logarithm then changes by as much in one segment as in another.
#[derive(Debug)]
pub struct Segments<const SQUARE: bool> {
    /// Up to where the errors are those that the table states.
    pub reach: f32,
    pub centers: Table,
    pub float32: [Table; 7],
    pub float16: [Table; 5],
    pub bfloat16: [Table; 4],
}

impl<const SQUARE: bool> Segments<SQUARE> {
    /// `x·P(x)`, if the segments go as far as all of `x` but its NaN, of which it is one.
    #[inline(always)]
    pub unsafe fn product<V: Vector, E: Element>(&self, x: V) -> Option<V> {
        // SAFETY: the caller's promise.
        unsafe {
            if !x.abs().all_less(self.reach) {
                return None;
            }
            Some(self.product_within::<V, E>(x))
        }
    }

    /// `x·P(x)` where the segments go as far, else what is given.
    #[inline(always)]
    pub unsafe fn product_or<V: Vector, E: Element>(&self, x: V, beyond: V) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let is_within = x.abs().less(V::splat(self.reach));
            V::select(is_within, self.product_within::<V, E>(x), beyond)
        }
    }

    /// `x·P(x)`, as exact as results of the element `E` need it, where the segments go as far.
    #[inline(always)]
    unsafe fn product_within<V: Vector, E: Element>(&self, x: V) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let size = x.abs();
            let tail = match E::PRECISION {
                f32::MANTISSA_DIGITS => Self::tail(size, &self.centers, &self.float32),
                half::f16::MANTISSA_DIGITS => Self::tail(size, &self.centers, &self.float16),
                _ => polynomial(size, Self::index(size), &self.bfloat16),
            };
            // P(x) = 1 − P(−x), so what is needed is x or 0, and |x|·−P(−|x|).
            size.mul_add(tail, V::splat(0.0).max(x))
        }
    }

    /// −P(−t).
    #[inline(always)]
    unsafe fn tail<V: Vector, const N: usize>(t: V, centers: &Table, rows: &[Table; N]) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let index = Self::index(t);
            polynomial(t.sub(index.lookup(centers)), index, rows)
        }
    }

    /// Numbers whose last four bits count the segments.
    #[inline(always)]
    unsafe fn index<V: Vector>(t: V) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            // So large that there is no room for what is between two segments.
            if SQUARE {
                t.mul_add(t, V::splat(1.5 * (1 << 24) as f32))
            } else {
                t.add(V::splat(1.5 * (1 << 23) as f32))
            }
        }
    }
}

/// A polynomial in each lane: the one of that index.
#[inline(always)]
unsafe fn polynomial<V: Vector, const N: usize>(x: V, index: V, rows: &[Table; N]) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = index.lookup(&rows[N - 1]);
        for row in rows[..N - 1].iter().rev() {
            sum = sum.mul_add(x, index.lookup(row));
        }
        sum
    }
}
