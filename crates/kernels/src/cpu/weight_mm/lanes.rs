//! The instructions of a product with packed weights.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::marker::PhantomData;
#[cfg(target_arch = "x86_64")]
use std::mem::transmute;

#[cfg(target_arch = "x86_64")]
use half::bf16;

#[cfg(target_arch = "x86_64")]
use crate::cpu::vector::Avx512;
use crate::cpu::vector::Vector;

/// Weights that are decoded at a time.
pub const QUARTER: usize = 32;

/// The registers and instructions of one capability. All methods are inlined into a function that
/// has the instructions enabled, which is what makes calling them sound.
///
/// # Safety
/// The CPU has the capability; and what a method itself asks for.
pub trait Lanes {
    /// An element of the activation, as the instructions want it.
    type X: Copy + Send + Sync;
    /// 32 weights as numbers.
    type Quarter: Copy;
    /// Partial sums in float32.
    type Sum: Vector;

    /// Whether the activation's 32 elements that meet a quarter of 4-bit weights come as the 16 of
    /// even index and then the 16 of odd index, rather than in order.
    const SPLITS_PAIRS: bool;

    /// `q − 8` of one quarter (0 to 3) of a block of 128 4-bit weights: 64 bytes.
    unsafe fn u4(block: *const u8, quarter: usize) -> Self::Quarter;

    /// 32 integers, the first of which meets the first element of the activation's 32.
    unsafe fn i8(values: *const i8) -> Self::Quarter;

    /// `sum + quarter · x`, of 32 elements at `x`.
    unsafe fn dot(quarter: Self::Quarter, x: *const Self::X, sum: Self::Sum) -> Self::Sum;
}

/// Products of float32, `N` registers for a quarter.
pub struct Float32<V, const N: usize>(PhantomData<V>);

impl<V: Vector, const N: usize> Lanes for Float32<V, N> {
    type X = f32;
    type Quarter = [V; N];
    type Sum = V;

    const SPLITS_PAIRS: bool = true;

    #[inline(always)]
    unsafe fn u4(block: *const u8, quarter: usize) -> [V; N] {
        // SAFETY: the caller's promise.
        let mut weights = unsafe { [V::splat(0.0); N] };
        for (index, weight) in weights.iter_mut().enumerate() {
            // Sixteen words of 32 bits: the lower half of each, and then the upper one.
            let (half, part) = (index / (N / 2), index % (N / 2));
            let words = block.wrapping_add(4 * part * V::LANES);
            // SAFETY: as above.
            *weight = unsafe { V::from_u4(words, 4 * quarter + 16 * half) };
        }
        weights
    }

    #[inline(always)]
    unsafe fn i8(values: *const i8) -> [V; N] {
        // SAFETY: the caller's promise.
        let mut weights = unsafe { [V::splat(0.0); N] };
        for (index, weight) in weights.iter_mut().enumerate() {
            // SAFETY: as above.
            *weight = unsafe { V::from_i8(values.wrapping_add(index * V::LANES)) };
        }
        weights
    }

    #[inline(always)]
    unsafe fn dot(weights: [V; N], x: *const f32, mut sum: V) -> V {
        for (index, weight) in weights.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            sum = unsafe { weight.mul_add(V::load(x.wrapping_add(index * V::LANES)), sum) };
        }
        sum
    }
}

/// [`Capability::Avx512Bf16`](crate::cpu::Capability::Avx512Bf16), for bfloat16
/// activations. A product of two bfloat16 is exact in float32, and the integers are exact in
/// bfloat16; subnormal numbers count as zero.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct BFloat16Pairs;

/// −8 to 7 as bfloat16, twice: an index is a nibble and the lowest bit of the next.
#[cfg(target_arch = "x86_64")]
static CENTERED: [u16; 32] = {
    let mut table = [0; 32];
    let mut index = 0;
    while index < 32 {
        table[index] = (((index % 16) as f32 - 8.0).to_bits() >> 16) as u16;
        index += 1;
    }
    table
};

#[cfg(target_arch = "x86_64")]
impl Lanes for BFloat16Pairs {
    type X = bf16;
    type Quarter = __m512i;
    type Sum = Avx512<true>;

    const SPLITS_PAIRS: bool = false;

    #[inline(always)]
    unsafe fn u4(block: *const u8, quarter: usize) -> __m512i {
        // SAFETY: the caller has AVX-512 and 64 bytes at `block`; the table has 32 entries.
        unsafe {
            let table = _mm512_loadu_si512(CENTERED.as_ptr().cast());
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
    unsafe fn dot(weights: __m512i, x: *const bf16, sum: Avx512<true>) -> Avx512<true> {
        // SAFETY: the caller has AVX-512 BF16 and 32 numbers at `x`.
        unsafe {
            let x = _mm512_loadu_si512(x.cast());
            // Registers of the same 512 bits.
            Avx512(_mm512_dpbf16_ps(
                sum.0,
                transmute::<__m512i, __m512bh>(weights),
                transmute::<__m512i, __m512bh>(x),
            ))
        }
    }
}
