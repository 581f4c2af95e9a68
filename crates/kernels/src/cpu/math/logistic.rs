//! x·σ(s), where σ is the logistic function and s has the sign of x.

use std::f32::consts::LOG2_E;

use super::exp::{exp_parts, exp2};
use super::is_float32;
use super::tables::{GELU_TANH, SILU};
use crate::cpu::vector::{Element, Vector};

/// 2√(2/π) and that times 0.044_715, each in two parts.
const SLOPE: [f32; 2] = [1.595_769_2, -4.534_068e-8];
const CUBE: [f32; 2] = [0.071_354_814, 2.398_832_5e-9];

/// `x·σ(x)`, with an error below 3.1 ulp for float32 and 1 ulp for bfloat16 and float16. NaN for −∞,
/// as ATen has it, which multiplies it by 0.
#[inline(always)]
pub unsafe fn silu<V: Vector, E: Element>(x: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        // Beyond, the result is 0.
        let tail = V::splat(-110.0).max(x.negative());
        let beyond = if is_float32::<E>() {
            logistic(x, tail, (tail, V::splat(0.0)))
        } else {
            rough_logistic(x, tail.mul(V::splat(LOG2_E)))
        };
        SILU.product_or::<V, E>(x, beyond)
    }
}

/// SiLU by less work; none if some of `x` is 15 or more from 0.
#[inline(always)]
pub unsafe fn silu_near_zero<V: Vector, E: Element>(x: V) -> Option<V> {
    // SAFETY: the caller's promise.
    unsafe { SILU.product::<V, E>(x) }
}

/// `½x·(1 + tanh(√(2/π)·(x + 0.044_715x³)))`, with an error below 4 ulp for float32, 4.2 ulp
/// where there is no fused multiply-add, and 1 ulp for bfloat16 and float16. NaN for −∞, as ATen has
/// it. It is `x·σ(2√(2/π)·(x + 0.044_715x³))`.
#[inline(always)]
pub unsafe fn gelu_tanh<V: Vector, E: Element>(x: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        // Beyond, the result is 0.
        let tail = V::splat(-11.0).max(x.negative());
        let beyond = if is_float32::<E>() {
            logistic(x, tail, argument(tail))
        } else {
            let slope = V::splat(SLOPE[0] * LOG2_E);
            let slope = tail.mul(tail).mul_add(V::splat(CUBE[0] * LOG2_E), slope);
            rough_logistic(x, tail.mul(slope))
        };
        GELU_TANH.product_or::<V, E>(x, beyond)
    }
}

/// GELU by tanh with less work; none if some of `x` is 4.75 or more from 0.
#[inline(always)]
pub unsafe fn gelu_tanh_near_zero<V: Vector, E: Element>(x: V) -> Option<V> {
    // SAFETY: the caller's promise.
    unsafe { GELU_TANH.product::<V, E>(x) }
}

/// `2√(2/π)·(x + 0.044_715x³)` as a sum of two: what the first loses in rounding, a power would
/// multiply by up to 100.
#[inline(always)]
unsafe fn argument<V: Vector>(x: V) -> (V, V) {
    // SAFETY: the caller's promise.
    unsafe {
        let (square, square_low) = x.mul_exact(x);
        let (cube, cube_low) = square.mul_exact(V::splat(CUBE[0]));
        let cube_low = square_low.mul_add(V::splat(CUBE[0]), cube_low);
        let cube_low = square.mul_add(V::splat(CUBE[1]), cube_low);
        // The rest of a sum, whichever is larger (D. E. Knuth's).
        let linear = V::splat(SLOPE[0]);
        let slope = cube.add(linear);
        let part = slope.sub(cube);
        let rest = cube.sub(slope.sub(part)).add(linear.sub(part));
        let slope_low = rest.add(cube_low.add(V::splat(SLOPE[1])));
        let (high, low) = x.mul_exact(slope);
        (high, x.mul_add(slope_low, low))
    }
}

/// `x·σ(s)`, where `tail` is `−|x|`, bounded, and `power` is `−|s|`, in two parts.
#[inline(always)]
unsafe fn logistic<V: Vector>(x: V, tail: V, power: (V, V)) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        // σ(s) = 1 / (1 + e^−s) = e^s / (1 + e^s): the power that is at most 1.
        let (growth, exponent) = exp_parts(power.0, power.1);
        let (zero, one) = (V::splat(0.0), V::splat(1.0));
        // Multiplied before it is scaled, as the power alone may be subnormal; and −∞ by 0.
        let negative = x.mul_add(zero, tail.mul_add(growth, tail).scale(exponent));
        let numerator = V::select(zero.less(x), x, negative);
        numerator.div(growth.add(one).scale(exponent).add(one))
    }
}

/// `x·σ(s)`, where `power` is `−|s|·log₂e`: with a relative error of 2⁻¹², and an absolute one of
/// 2⁻¹⁴² of the least results.
#[inline(always)]
unsafe fn rough_logistic<V: Vector>(x: V, power: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let (power, one) = (exp2(power), V::splat(1.0));
        let numerator = V::select(V::splat(0.0).less(x), x, x.mul(power));
        numerator.mul(power.add(one).reciprocal())
    }
}
