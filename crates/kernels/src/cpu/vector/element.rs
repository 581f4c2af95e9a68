//! Elements of tensors, loaded and stored as float32.

use half::{bf16, f16};

use super::Vector;

/// An element whose values a [`Vector`] holds. A result is rounded to the nearest element, of two
/// the even one; subnormal numbers and NaN are kept.
pub trait Element: Copy + Send + Sync {
    /// Bits of a value's precision, the first one, which is not stored, included.
    const PRECISION: u32;

    /// `V::LANES` values.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements can be read.
    unsafe fn load<V: Vector>(from: *const Self) -> V;

    /// Writes `V::LANES` values.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements can be written.
    unsafe fn store<V: Vector>(values: V, to: *mut Self);

    /// `V::LANES` values, in an order that [`Self::store_shuffled`] undoes: cheaper
    /// for several registers [`Together`](super::Together), where each value is a matter of its own.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements can be read.
    #[inline(always)]
    unsafe fn load_shuffled<V: Vector>(from: *const Self) -> V {
        // SAFETY: the caller's promise.
        unsafe { Self::load(from) }
    }

    /// Writes `V::LANES` values that have been loaded so, or what has become of each.
    /// Those between two elements, at equal distances, may go to either.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements can be written.
    #[inline(always)]
    unsafe fn store_shuffled<V: Vector>(values: V, to: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { Self::store(values, to) }
    }

    /// `count` values, at most `V::LANES`, and 0 in the other lanes.
    ///
    /// # Safety
    /// The CPU has the instructions; `count` elements can be read.
    unsafe fn load_first<V: Vector>(from: *const Self, count: usize) -> V;

    /// Writes the first `count` values, at most `V::LANES`.
    ///
    /// # Safety
    /// The CPU has the instructions; `count` elements can be written.
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
                let halves = unsafe { V::load_halves(from.cast()) };
                // SAFETY: the caller has the instructions.
                unsafe { V::$values(halves) }
            }

            #[inline(always)]
            unsafe fn store<V: Vector>(values: V, to: *mut Self) {
                // SAFETY: the caller has the instructions.
                let halves = unsafe { values.$halves() };
                // SAFETY: the caller's promise; elements of 16 bits.
                unsafe { V::store_halves(halves, to.cast()) }
            }

            #[inline(always)]
            unsafe fn load_first<V: Vector>(from: *const Self, count: usize) -> V {
                // SAFETY: the caller's promise; elements of 16 bits.
                let halves = unsafe { V::load_halves_first(from.cast(), count) };
                // SAFETY: the caller has the instructions.
                unsafe { V::$values(halves) }
            }

            #[inline(always)]
            unsafe fn store_first<V: Vector>(values: V, to: *mut Self, count: usize) {
                // SAFETY: the caller has the instructions.
                let halves = unsafe { values.$halves() };
                // SAFETY: the caller's promise; elements of 16 bits.
                unsafe { V::store_halves_first(halves, to.cast(), count) }
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
        // SAFETY: the caller's promise; elements of 16 bits. What the values have become of, their
        // NaN among it, are bfloat16 elements.
        unsafe { values.store_bf16_shuffled(to.cast()) }
    }
});
half!(f16, from_f16, to_f16, {});
