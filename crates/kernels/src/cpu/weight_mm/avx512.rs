//! AVX-512: sixteen float32 lanes, or pairs of bfloat16.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one capability is the condition of every instruction"
)]

use std::arch::x86_64::*;
use std::mem::transmute;

use half::bf16;

use super::lanes::{Lanes, QUARTER};

/// [`Capability::Avx512`](crate::cpu::Capability::Avx512).
#[derive(Debug, Clone, Copy)]
pub struct Avx512;

/// [`Capability::Avx512Bf16`](crate::cpu::Capability::Avx512Bf16), for bfloat16
/// activations. A product of two bfloat16 is exact in float32, and the integers are exact in
/// bfloat16; subnormal numbers count as zero.
#[derive(Debug, Clone, Copy)]
pub struct Avx512Bf16;

/// −8 to 7 as float32; an index into it is a nibble, what stands above it does not matter.
static CENTERED: [f32; 16] =
    [-8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// The same as bfloat16, twice: an index is a nibble and the lowest bit of the next.
static CENTERED_BF16: [u16; 32] = {
    let mut table = [0; 32];
    let mut index = 0;
    while index < 32 {
        table[index] = (CENTERED[index % 16].to_bits() >> 16) as u16;
        index += 1;
    }
    table
};

impl Lanes for Avx512 {
    type X = f32;
    type Quarter = [__m512; 2];
    type Sum = __m512;

    const SPLITS_PAIRS: bool = true;

    #[inline(always)]
    fn prefetch(address: *const u8) {
        // SAFETY: a hint, which faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        // SAFETY: the caller has AVX-512.
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn u4(block: *const u8, quarter: usize) -> Self::Quarter {
        // SAFETY: the caller has AVX-512 and 64 bytes at `block`; the table has 16 entries.
        unsafe {
            let table = _mm512_loadu_ps(CENTERED.as_ptr());
            let words = _mm512_loadu_si512(block.cast());
            let shifted = |by: usize| _mm512_srl_epi32(words, _mm_cvtsi32_si128(by as i32));
            [
                _mm512_permutexvar_ps(shifted(4 * quarter), table),
                _mm512_permutexvar_ps(shifted(4 * quarter + 16), table),
            ]
        }
    }

    #[inline(always)]
    unsafe fn i8(values: *const i8) -> Self::Quarter {
        // SAFETY: the caller has AVX-512 and 32 bytes at `values`.
        unsafe {
            let sixteen = |at: usize| {
                let bytes = _mm_loadu_si128(values.add(at).cast());
                _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))
            };
            [sixteen(0), sixteen(16)]
        }
    }

    #[inline(always)]
    unsafe fn dot(weights: Self::Quarter, x: *const f32, sum: __m512) -> __m512 {
        // SAFETY: the caller has AVX-512 and 32 floats at `x`.
        unsafe {
            let sum = _mm512_fmadd_ps(weights[0], _mm512_loadu_ps(x), sum);
            _mm512_fmadd_ps(weights[1], _mm512_loadu_ps(x.add(16)), sum)
        }
    }

    #[inline(always)]
    unsafe fn add_scaled(sum: __m512, scale: f32, total: __m512) -> __m512 {
        // SAFETY: the caller has AVX-512.
        unsafe { _mm512_fmadd_ps(sum, _mm512_set1_ps(scale), total) }
    }

    #[inline(always)]
    unsafe fn total(sum: __m512) -> f32 {
        // SAFETY: the caller has AVX-512.
        unsafe { _mm512_reduce_add_ps(sum) }
    }
}

impl Lanes for Avx512Bf16 {
    type X = bf16;
    type Quarter = __m512i;
    type Sum = __m512;

    const SPLITS_PAIRS: bool = false;

    #[inline(always)]
    fn prefetch(address: *const u8) {
        // SAFETY: a hint, which faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        // SAFETY: the caller has AVX-512.
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn u4(block: *const u8, quarter: usize) -> __m512i {
        // SAFETY: the caller has AVX-512 and 64 bytes at `block`; the table has 32 entries.
        unsafe {
            let table = _mm512_loadu_si512(CENTERED_BF16.as_ptr().cast());
            let words = _mm512_loadu_si512(block.cast());
            let shifted = _mm512_srl_epi16(words, _mm_cvtsi32_si128(4 * quarter as i32));
            _mm512_permutexvar_epi16(shifted, table)
        }
    }

    #[inline(always)]
    unsafe fn i8(values: *const i8) -> __m512i {
        // SAFETY: the caller's 32 bytes.
        let values = unsafe { &*values.cast::<[i8; QUARTER]>() };
        let numbers = values.map(|value| bf16::from_f32_const(f32::from(value)).to_bits());
        // SAFETY: the caller has AVX-512; 32 numbers of two bytes.
        unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn dot(weights: __m512i, x: *const bf16, sum: __m512) -> __m512 {
        // SAFETY: the caller has AVX-512 BF16 and 32 numbers at `x`.
        unsafe {
            let x = _mm512_loadu_si512(x.cast());
            // Registers of the same 512 bits.
            _mm512_dpbf16_ps(
                sum,
                transmute::<__m512i, __m512bh>(weights),
                transmute::<__m512i, __m512bh>(x),
            )
        }
    }

    #[inline(always)]
    unsafe fn add_scaled(sum: __m512, scale: f32, total: __m512) -> __m512 {
        // SAFETY: the caller has what `Avx512` needs.
        unsafe { Avx512::add_scaled(sum, scale, total) }
    }

    #[inline(always)]
    unsafe fn total(sum: __m512) -> f32 {
        // SAFETY: the caller has what `Avx512` needs.
        unsafe { Avx512::total(sum) }
    }
}
