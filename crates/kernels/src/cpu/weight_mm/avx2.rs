//! AVX2 and FMA: eight float32 lanes.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one capability is the condition of every instruction"
)]

use std::arch::x86_64::*;

use super::lanes::Lanes;

/// [`Capability::Avx2`](crate::cpu::Capability::Avx2).
#[derive(Debug, Clone, Copy)]
pub struct Avx2;

impl Lanes for Avx2 {
    type X = f32;
    type Quarter = [__m256; 4];
    type Sum = __m256;

    const SPLITS_PAIRS: bool = true;

    #[inline(always)]
    fn prefetch(address: *const u8) {
        // SAFETY: a hint, which faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }

    #[inline(always)]
    unsafe fn zero() -> __m256 {
        // SAFETY: the caller has AVX2.
        unsafe { _mm256_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn u4(block: *const u8, quarter: usize) -> Self::Quarter {
        // SAFETY: the caller has AVX2 and 64 bytes at `block`.
        unsafe {
            let low = _mm256_loadu_si256(block.cast());
            let high = _mm256_loadu_si256(block.add(32).cast());
            let shift = _mm_cvtsi32_si128(4 * quarter as i32);
            let number = |words: __m256i| {
                let nibbles = _mm256_and_si256(words, _mm256_set1_epi32(15));
                _mm256_cvtepi32_ps(_mm256_sub_epi32(nibbles, _mm256_set1_epi32(8)))
            };
            let (low, high) = (_mm256_srl_epi32(low, shift), _mm256_srl_epi32(high, shift));
            [
                number(low),
                number(high),
                number(_mm256_srli_epi32::<16>(low)),
                number(_mm256_srli_epi32::<16>(high)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn i8(values: *const i8) -> Self::Quarter {
        // SAFETY: the caller has AVX2 and 32 bytes at `values`.
        unsafe {
            let eight = |at: usize| {
                let bytes = _mm_loadl_epi64(values.add(at).cast());
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))
            };
            [eight(0), eight(8), eight(16), eight(24)]
        }
    }

    #[inline(always)]
    unsafe fn dot(weights: Self::Quarter, x: *const f32, mut sum: __m256) -> __m256 {
        for (index, weight) in weights.into_iter().enumerate() {
            // SAFETY: the caller has FMA and 32 floats at `x`.
            unsafe {
                sum = _mm256_fmadd_ps(weight, _mm256_loadu_ps(x.add(8 * index)), sum);
            }
        }
        sum
    }

    #[inline(always)]
    unsafe fn add_scaled(sum: __m256, scale: f32, total: __m256) -> __m256 {
        // SAFETY: the caller has FMA.
        unsafe { _mm256_fmadd_ps(sum, _mm256_set1_ps(scale), total) }
    }

    #[inline(always)]
    unsafe fn total(sum: __m256) -> f32 {
        // SAFETY: the caller has AVX2.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
}
