//! The functions, and what records call a pass of them.

use crate::kernels::cpu::math;
use crate::kernels::cpu::vector::{Element, Names, Vector, names};

/// A function of one element.
pub trait Function {
    /// What records call it.
    const NAMES: Names;
    /// Whether an element of a bias is added to that of `x` before.
    const HAS_BIAS: bool;

    /// The results, to be rounded to the elements `E`.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn at<V: Vector, E: Element>(x: V) -> V;

    /// The same results by less work, if all of `x` is near zero.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn near_zero<V: Vector, E: Element>(x: V) -> Option<V>;
}

/// Implements [`Function`] by one of [`math`].
macro_rules! function {
    ($name:ident, $operator:literal, $has_bias:literal, $function:ident, $near_zero:ident) => {
        pub struct $name;

        impl Function for $name {
            const NAMES: Names = names!($operator);
            const HAS_BIAS: bool = $has_bias;

            #[inline(always)]
            unsafe fn at<V: Vector, E: Element>(x: V) -> V {
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

function!(Gelu, "gelu", false, gelu, gelu_near_zero);
function!(GeluTanh, "gelu_tanh", false, gelu_tanh, gelu_tanh_near_zero);
function!(Silu, "silu", false, silu, silu_near_zero);
function!(BiasGelu, "bias_gelu", true, gelu, gelu_near_zero);
