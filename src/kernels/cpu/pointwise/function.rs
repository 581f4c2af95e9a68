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
}

/// Implements [`Function`] by one of [`math`].
macro_rules! function {
    ($name:ident, $operator:literal, $has_bias:literal, $function:path) => {
        pub struct $name;

        impl Function for $name {
            const NAMES: Names = names!($operator);
            const HAS_BIAS: bool = $has_bias;

            #[inline(always)]
            unsafe fn at<V: Vector, E: Element>(x: V) -> V {
                // SAFETY: the caller's promise.
                unsafe { $function(x) }
            }
        }
    };
}

function!(Gelu, "gelu", false, math::gelu::<V, E>);
function!(GeluTanh, "gelu_tanh", false, math::gelu_tanh::<V, E>);
function!(Silu, "silu", false, math::silu::<V, E>);
function!(BiasGelu, "bias_gelu", true, math::gelu::<V, E>);
