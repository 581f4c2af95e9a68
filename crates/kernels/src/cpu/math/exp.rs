//! Powers.

use std::f32::consts::LOG2_E;

use super::{is_float32, polynomial, polynomial_in_step};
use crate::cpu::vector::{Element, Vector};

/// ln 2 as a number of 9 bits, whose product with an integer below 2¹⁵ is exact, and the rest.
const LN_2: [f32; 2] = [355.0 / 512.0, -2.121_944_4e-4];

/// (eʳ − 1 − r) / r² for |r| ≤ ½ ln 2: the polynomial whose largest error, relative to eʳ, is
/// least, 2⁻²⁸·³.
const EXP: [f32; 5] = [0.499_999_94, 0.166_665_2, 0.041_668_4, 0.008_368_852, 0.001_381_432];

/// 2ʳ for |r| ≤ ½, likewise: 2⁻¹³·⁷.
const EXP2: [f32; 4] = [0.999_928_06, 0.693_260_97, 0.242_611_15, 0.055_171_676];

/// 2ʳ for r from 0 to 1: √2 times the same of r − ½.
const EXP2_FROM_0: [f32; 4] = [0.999_925_2, 0.695_833_5, 0.226_067_19, 0.078_024_53];

/// `e^x`. For float32 the error is below 1.2 ulp, for float16 and bfloat16 below 0.8 of theirs.
/// Infinity where the result is too large, 0 where it is less than half the least float32.
#[inline(always)]
pub unsafe fn exp<V: Vector, E: Element>(x: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        if is_float32::<E>() {
            // Beyond these the result is 0 and infinity.
            let x = V::splat(89.0).min(V::splat(-104.0).max(x));
            // No instruction is needed to add the negative zero.
            let (growth, exponent) = exp_parts(x, V::splat(-0.0));
            growth.add(V::splat(1.0)).scale(exponent)
        } else {
            let (fraction, exponent) = x.mul(V::splat(LOG2_E)).split();
            polynomial_in_step(fraction, EXP2_FROM_0).scale(exponent)
        }
    }
}

/// `e^(high + low)` as `(1 + growth) · 2^exponent`, for a `high` from −170 to 170 and a `low` that
/// is small beside its last place: so the power can be multiplied with a single rounding
/// (`y + y·growth`), and be scaled after that, which keeps it from being subnormal. The growth is
/// from −0.3 to 0.42, with an error below 2⁻²⁵.
#[inline(always)]
pub unsafe fn exp_parts<V: Vector>(high: V, low: V) -> (V, V) {
    // SAFETY: the caller's promise.
    unsafe {
        let exponent = high.mul(V::splat(LOG2_E)).round();
        let rest = exponent.mul_add(V::splat(-LN_2[0]), high);
        let rest = exponent.mul_add(V::splat(-LN_2[1]), rest.add(low));
        let slope = polynomial(rest, EXP).mul_add(rest, V::splat(1.0));
        (slope.mul(rest), exponent)
    }
}

/// `2^x` for `x` from −252 to 128, with a relative error below 2⁻¹³.
#[inline(always)]
pub unsafe fn exp2<V: Vector>(x: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let (fraction, exponent) = exp2_parts(x);
        fraction.scale(exponent)
    }
}

/// `2^x` as `fraction · 2^exponent`, as [`exp2`].
#[inline(always)]
pub unsafe fn exp2_parts<V: Vector>(x: V) -> (V, V) {
    // SAFETY: the caller's promise.
    unsafe {
        let exponent = x.round();
        (polynomial_in_step(x.sub(exponent), EXP2), exponent)
    }
}
