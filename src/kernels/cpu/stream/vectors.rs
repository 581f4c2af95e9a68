//! What STREAM's operations ask of an instruction set.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// A register of float32 values. All methods are inlined into a function that has the instructions
/// enabled, which is what makes calling them sound.
pub trait Vector: Copy {
    /// Values in it.
    const LANES: usize;

    /// The same value in every lane.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn splat(value: f32) -> Self;

    /// # Safety
    /// The CPU has the instructions; [`Self::LANES`] values can be read at `from`.
    unsafe fn load(from: *const f32) -> Self;

    /// # Safety
    /// The CPU has the instructions; [`Self::LANES`] values can be written at `to`.
    unsafe fn store(self, to: *mut f32);

    /// # Safety
    /// The CPU has the instructions.
    unsafe fn add(self, other: Self) -> Self;

    /// # Safety
    /// The CPU has the instructions.
    unsafe fn mul(self, other: Self) -> Self;

    /// `self · factor + term`, rounded once where the instructions can.
    ///
    /// # Safety
    /// The CPU has the instructions.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// Plain Rust: what is left of a pass, and on architectures other than x86-64 registers, where the
/// compiler finds any.
impl<const N: usize> Vector for [f32; N] {
    const LANES: usize = N;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        [value; N]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's values; an array is aligned as its elements are.
        unsafe { *from.cast::<Self>() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as above.
        unsafe { *to.cast::<Self>() = self }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        std::array::from_fn(|lane| self[lane] * factor[lane] + term[lane])
    }
}

/// Implements [`Vector`] by the instructions of one width.
#[cfg(target_arch = "x86_64")]
macro_rules! vector {
    (
        $register:ident, $lanes:literal,
        $splat:ident, $load:ident, $store:ident, $add:ident, $mul:ident, $mul_add:ident
    ) => {
        impl Vector for $register {
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: f32) -> Self {
                // SAFETY: the caller has the instructions.
                unsafe { $splat(value) }
            }

            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: the caller has the instructions and the values.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: the caller has the instructions and the place.
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller has the instructions.
                unsafe { $add(self, other) }
            }

            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                // SAFETY: the caller has the instructions.
                unsafe { $mul(self, other) }
            }

            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: the caller has the instructions.
                unsafe { $mul_add(self, factor, term) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vector!(__m128, 4, _mm_set1_ps, _mm_loadu_ps, _mm_storeu_ps, _mm_add_ps, _mm_mul_ps, mul_add_ps);
#[cfg(target_arch = "x86_64")]
vector!(
    __m256,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_mul_ps,
    _mm256_fmadd_ps
);
#[cfg(target_arch = "x86_64")]
vector!(
    __m512,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps
);

/// SSE rounds twice.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse")]
fn mul_add_ps(x: __m128, factor: __m128, term: __m128) -> __m128 {
    _mm_add_ps(_mm_mul_ps(x, factor), term)
}
