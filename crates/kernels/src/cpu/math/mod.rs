//! Functions of real numbers in a [`Vector`], as exact as the elements that their results go to
//! need.
//!
//! Results for float32 are within a few units in the last place (ulp) of the exact ones over the
//! whole range, subnormal results included: nothing cancels in the tails. Results for bfloat16 and
//! float16 are cheaper, and within 1 ulp of that dtype after rounding to it, half of which comes
//! from rounding. Each function's text states its guarantee, and tests hold it to that: for
//! bfloat16 and float16 on every element, for float32 on every bit pattern if asked to (`--
//! --ignored`).

mod exp;
mod gelu;
mod logistic;
mod segments;
mod tables;
#[cfg(test)]
mod tests;

pub use exp::exp;
pub use gelu::{gelu, gelu_near_zero};
pub use logistic::{gelu_tanh, gelu_tanh_near_zero, silu, silu_near_zero};

use super::vector::{Element, Vector};

/// Whether results that are rounded to this element need all of a float32's precision.
const fn is_float32<E: Element>() -> bool {
    E::PRECISION == f32::MANTISSA_DIGITS
}

/// A polynomial, of coefficients that begin with the constant one.
#[inline(always)]
unsafe fn polynomial<V: Vector, const N: usize>(x: V, coefficients: [f32; N]) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = V::splat(coefficients[N - 1]);
        for &coefficient in coefficients[..N - 1].iter().rev() {
            sum = sum.mul_add(x, V::splat(coefficient));
        }
        sum
    }
}

/// Evaluates a polynomial for several registers term by term rather than register by register: with
/// little else to do, the processor would wait for one term after the other.
#[inline(always)]
unsafe fn polynomial_in_step<V: Vector, const N: usize>(x: V, coefficients: [f32; N]) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = V::splat(coefficients[N - 1]);
        for &coefficient in coefficients[..N - 1].iter().rev() {
            sum = sum.mul_add(x, V::splat(coefficient)).in_step();
        }
        sum
    }
}
