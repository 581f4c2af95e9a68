//! Elements of tensors, loaded and stored as float32.

use half::{bf16, f16};
use tch::{Kind, TchError};

use super::Vector;

/// An element whose values a [`Vector`] holds. A result is rounded to the nearest element, of two
/// the even one; subnormal numbers and NaN are kept.
///
/// # Safety
/// For every method, as many elements as it names can be read or written.
pub trait Element: Copy + Send + Sync {
    /// Bits of a value's precision, the first one, which is not stored, included.
    const PRECISION: u32;

    /// Whether it is bfloat16.
    const IS_BF16: bool = Self::PRECISION == bf16::MANTISSA_DIGITS;

    /// `V::LANES` values.
    unsafe fn load<V: Vector>(from: *const Self) -> V;

    /// Writes `V::LANES` values.
    unsafe fn store<V: Vector>(values: V, to: *mut Self);

    /// `V::LANES` values, in an order that [`Self::store_shuffled`] undoes: cheaper
    /// for several registers [`Together`](super::Together), where each value is a matter of its own.
    #[inline(always)]
    unsafe fn load_shuffled<V: Vector>(from: *const Self) -> V {
        // SAFETY: the caller's promise.
        unsafe { Self::load(from) }
    }

    /// Writes `V::LANES` values that have been loaded so, or what has become of each.
    /// A value just between two elements may go to either.
    #[inline(always)]
    unsafe fn store_shuffled<V: Vector>(values: V, to: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { Self::store(values, to) }
    }

    /// `count` values, at most `V::LANES`, and 0 in the other lanes.
    unsafe fn load_first<V: Vector>(from: *const Self, count: usize) -> V;

    /// Writes the first `count` values, at most `V::LANES`.
    unsafe fn store_first<V: Vector>(values: V, to: *mut Self, count: usize);
}

impl Element for f32 {
    const PRECISION: u32 = f32::MANTISSA_DIGITS;

    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const Self) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::load(from) }
    }

    #[inline(always)]
    unsafe fn store<V: Vector>(values: V, to: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { values.store(to) }
    }

    #[inline(always)]
    unsafe fn load_first<V: Vector>(from: *const Self, count: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::load_first(from, count) }
    }

    #[inline(always)]
    unsafe fn store_first<V: Vector>(values: V, to: *mut Self, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { values.store_first(to, count) }
    }
}

/// Implements [`Element`] by the conversions of a [`Vector`].
macro_rules! half {
    ($element:ident, $values:ident, $halves:ident, {$($more:item)*}) => {
        impl Element for $element {
            const PRECISION: u32 = $element::MANTISSA_DIGITS;

            #[inline(always)]
            unsafe fn load<V: Vector>(from: *const Self) -> V {
                // SAFETY: the caller's promise; elements of 16 bits.
                unsafe { V::$values(V::load_halves(from.cast())) }
            }

            #[inline(always)]
            unsafe fn store<V: Vector>(values: V, to: *mut Self) {
                // SAFETY: the caller's promise; elements of 16 bits.
                unsafe { V::store_halves(values.$halves(), to.cast()) }
            }

            #[inline(always)]
            unsafe fn load_first<V: Vector>(from: *const Self, count: usize) -> V {
                // SAFETY: the caller's promise; elements of 16 bits.
                unsafe { V::$values(V::load_halves_first(from.cast(), count)) }
            }

            #[inline(always)]
            unsafe fn store_first<V: Vector>(values: V, to: *mut Self, count: usize) {
                // SAFETY: the caller's promise; elements of 16 bits.
                unsafe { V::store_halves_first(values.$halves(), to.cast(), count) }
            }

            $($more)*
        }
    };
}

half!(bf16, from_bf16, to_bf16, {
    #[inline(always)]
    unsafe fn load_shuffled<V: Vector>(from: *const Self) -> V {
        // SAFETY: the caller's promise; elements of 16 bits.
        unsafe { V::load_bf16_shuffled(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store_shuffled<V: Vector>(values: V, to: *mut Self) {
        // SAFETY: the caller's promise; elements of 16 bits. The values come of bfloat16
        // elements, their NaN, too.
        unsafe { values.store_bf16_shuffled(to.cast()) }
    }
});
half!(f16, from_f16, to_f16, {});

/// Runs an expression in which `$T` is the element of a dtype.
macro_rules! with_element {
    ($kind:expr, $T:ident => $body:expr) => {
        match $kind {
            tch::Kind::Float => {
                type $T = f32;
                $body
            }
            tch::Kind::BFloat16 => {
                type $T = half::bf16;
                $body
            }
            tch::Kind::Half => {
                type $T = half::f16;
                $body
            }
            other => Err($crate::cpu::vector::unsupported(other)),
        }
    };
}
pub(crate) use with_element;

/// The error for a dtype that no kernel takes.
pub fn unsupported(kind: Kind) -> TchError {
    TchError::Kind(format!("x is {kind:?}, where float32, bfloat16 or float16 is needed"))
}
