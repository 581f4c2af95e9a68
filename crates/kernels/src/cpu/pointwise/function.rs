//! The functions.

use crate::cpu::math;
use crate::cpu::vector::{Element, Vector};

/// A function of one element.
pub trait Function {
    /// Whether an element of a bias is added to that of `x` before.
    const HAS_BIAS: bool;

    /// The results, to be rounded to the elements `E`.
    unsafe fn evaluate<V: Vector, E: Element>(x: V) -> V;

    /// These results by less work; none unless all of `x` is near zero.
    unsafe fn near_zero<V: Vector, E: Element>(x: V) -> Option<V>;
}

/// Implements [`Function`] by one of [`math`].
macro_rules! function {
    ($name:ident, $has_bias:literal, $function:ident, $near_zero:ident) => {
        pub struct $name;

        impl Function for $name {
            const HAS_BIAS: bool = $has_bias;

            #[inline(always)]
            unsafe fn evaluate<V: Vector, E: Element>(x: V) -> V {
                // SAFETY: the caller's promise.
                unsafe { math::$function::<V, E>(x) }
            }

            #[inline(always)]
            unsafe fn near_zero<V: Vector, E: Element>(x: V) -> Option<V> {
                // SAFETY: the caller's promise.
                unsafe { math::$near_zero::<V, E>(x) }
            }
        }
    };
}

function!(Gelu, false, gelu, gelu_near_zero);
function!(GeluTanh, false, gelu_tanh, gelu_tanh_near_zero);
function!(Silu, false, silu, silu_near_zero);
function!(BiasGelu, true, gelu, gelu_near_zero);
