//! x·P(x) for a P with P(−x) = 1 − P(x), by polynomials.

use crate::cpu::vector::{Element, Table, Vector};

/// −P(−t) for t from 0 on, in as many segments as an instruction looks a value up among: sixteen, or eight with
/// polynomials of a higher degree.
///
/// Sixteen segments are around 0, 1, 2, … 15; or around the square roots of 0, 2, 4, … 30, for a tail that
/// falls as that of e^(−t²/2): its logarithm then changes by as much in one segment as in another. With eight, every
/// second number is a center.
#[derive(Debug)]
pub struct Segments<const SQUARE: bool> {
    /// Up to where the errors are those that the table states.
    pub reach: f32,
    pub sixteen: Polynomials<16, 7, 5, 4>,
    pub eight: Polynomials<8, 9, 6, 5>,
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
            let tail = match V::ENTRIES {
                8 => self.eight.tail::<V, E, SQUARE>(size),
                _ => self.sixteen.tail::<V, E, SQUARE>(size),
            };
            // P(x) = 1 − P(−x), so what is needed is x or 0, and |x|·−P(−|x|).
            size.mul_add(tail, V::splat(0.0).max(x))
        }
    }
}

/// In each of `COUNT` segments and for each dtype a polynomial of t's distance from the segment's center, for bfloat16
/// in one of sixteen segments a polynomial of t, whose largest relative error is least. The constant terms come first.
#[derive(Debug)]
pub struct Polynomials<const COUNT: usize, const A: usize, const B: usize, const C: usize> {
    pub centers: Table,
    pub float32: [Table; A],
    pub float16: [Table; B],
    pub bfloat16: [Table; C],
}

impl<const COUNT: usize, const A: usize, const B: usize, const C: usize>
    Polynomials<COUNT, A, B, C>
{
    /// −P(−t), as exact as results of the element `E` need it.
    #[inline(always)]
    unsafe fn tail<V: Vector, E: Element, const SQUARE: bool>(&self, t: V) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            // Numbers whose last bits count the segments: so large that there is no room for what is between two.
            let least = 1.5 * ((1_u32 << 27) / COUNT as u32) as f32;
            let index =
                if SQUARE { t.mul_add(t, V::splat(2.0 * least)) } else { t.add(V::splat(least)) };
            if E::IS_BF16 && COUNT == 16 {
                return polynomial(t, index, &self.bfloat16);
            }
            let distance = t.sub(index.lookup(&self.centers));
            match E::PRECISION {
                f32::MANTISSA_DIGITS => polynomial(distance, index, &self.float32),
                half::f16::MANTISSA_DIGITS => polynomial(distance, index, &self.float16),
                _ => polynomial(distance, index, &self.bfloat16),
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
            // The polynomials of eight segments are chains so long that the processor does not look beyond one.
            if V::ENTRIES == 8 {
                sum = sum.in_step();
            }
        }
        sum
    }
}
