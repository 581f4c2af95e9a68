//! x·Φ(x), where Φ is the distribution function of the normal distribution.

use super::exp::{exp_parts, exp2_parts};
use super::polynomial_in_step;
use super::tables::GELU;
use crate::cpu::vector::{Element, Vector};

/// Numerator and denominator of Φ(x)·e^(x²/2), for x from −14.5 to 0: the float32 coefficients with
/// the least relative error found, 2⁻²⁶·⁶. All terms are positive, so that none cancels another.
const RATIO: ([f32; 5], [f32; 6]) = (
    [0.5, -0.438_291_2, 0.183_232_04, -0.040_632_15, 0.004_116_127],
    [1.0, -1.674_467_3, 1.202_491, -0.469_462_42, 0.101_856_14, -0.010_317_48],
);

/// log₂ Φ(x) for x from −13.6 to 0, as far as bfloat16 goes; wrong by 2⁻¹⁰·¹.
const LOG2_BF16: [f32; 8] = [
    -1.000_894_3,
    1.141_930_6,
    -0.474_367_1,
    0.043_667_924,
    0.005_276_243,
    3.963_665_5e-4,
    1.648_544_8e-5,
    2.882_579_5e-7,
];

/// Coefficients for the shorter range −5.9 to 0, enough for float16; wrong by 2⁻¹⁴.
const LOG2_F16: [f32; 7] = [
    -1.000_058,
    1.150_267_2,
    -0.461_063_95,
    0.051_353_313,
    0.007_256_275,
    6.211_159e-4,
    2.360_458e-5,
];

/// `x·Φ(x)`, with an error below 5.2 ulp for float32, 6.3 ulp where there is no fused multiply-add,
/// and 1 ulp for bfloat16 and float16. NaN for −∞, as ATen has it, which multiplies it by 0.
#[inline(always)]
pub unsafe fn gelu<V: Vector, E: Element>(x: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        // Φ(x) = 1 − Φ(−x), so what is needed is x or 0, and −|x|·Φ(−|x|).
        let tail = match E::PRECISION {
            f32::MANTISSA_DIGITS => tail(x),
            half::f16::MANTISSA_DIGITS => log_tail(x, -5.9, LOG2_F16),
            _ => log_tail(x, -13.6, LOG2_BF16),
        };
        let zero = V::splat(0.0);
        let is_positive = V::select(zero.less(x), V::splat(1.0), zero);
        GELU.product_or::<V, E>(x, x.mul_add(is_positive, tail))
    }
}

/// GELU by less work; none if some of `x` is 5.47 or more from 0.
#[inline(always)]
pub unsafe fn gelu_near_zero<V: Vector, E: Element>(x: V) -> Option<V> {
    // SAFETY: the caller's promise.
    unsafe { GELU.product::<V, E>(x) }
}

/// `−|x|·Φ(−|x|)`, as a power of e and a ratio.
#[inline(always)]
unsafe fn tail<V: Vector>(x: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        // Beyond, the result is 0.
        let x = V::splat(-14.5).max(x.negative());
        // The power would multiply the square's rounding error by up to 100.
        let (high, low) = x.mul_exact(x);
        let minus_half = V::splat(-0.5);
        let (growth, exponent) = exp_parts(high.mul(minus_half), low.mul(minus_half));
        // Half as many roundings in a row as term by term; those of the square cancel.
        let ([p0, p1, p2, p3, p4], [q0, q1, q2, q3, q4, q5]) = RATIO;
        let numerator = V::splat(p4).mul_add(high, line(x, p2, p3)).mul_add(high, line(x, p0, p1));
        let denominator = line(x, q4, q5).mul_add(high, line(x, q2, q3));
        let denominator = denominator.mul_add(high, line(x, q0, q1));
        x.mul_add(growth, x).mul(numerator.div(denominator)).scale(exponent)
    }
}

/// `constant + slope·x`.
#[inline(always)]
unsafe fn line<V: Vector>(x: V, constant: f32, slope: f32) -> V {
    // SAFETY: the caller's promise.
    unsafe { V::splat(slope).mul_add(x, V::splat(constant)) }
}

/// `−|x|·Φ(−|x|)` by the logarithm of Φ from `least` on.
#[inline(always)]
unsafe fn log_tail<V: Vector, const N: usize>(x: V, least: f32, logarithm: [f32; N]) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let x = V::splat(least).max(x.negative());
        let (fraction, exponent) = exp2_parts(polynomial_in_step(x, logarithm));
        x.mul(fraction).scale(exponent)
    }
}
