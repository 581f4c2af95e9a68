//! AVX-512 F, BW, DQ and VL: sixteen lanes; with AVX-512 BF16, an instruction rounds to bfloat16.

use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::transmute;

use super::{Capability, Table, Vector, methods};

/// A register, for a CPU that has AVX-512 BF16 or may lack it.
#[derive(Debug, Clone, Copy)]
pub struct Avx512<const HAS_BF16: bool>(pub __m512);

/// −8 to 7; an index into it is the lowest four bits, what stands above them does not matter.
static CENTERED: [f32; 16] =
    [-8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

impl<const HAS_BF16: bool> Vector for Avx512<HAS_BF16> {
    const CAPABILITY: Capability =
        if HAS_BF16 { Capability::Avx512Bf16 } else { Capability::Avx512 };
    const LANES: usize = 16;
    type Mask = __mmask16;
    type Halves = __m256i;

    methods! {
        prefetch(address: *const u8) = _mm_prefetch::<_MM_HINT_T0>(address.cast());
        splat(value: f32) -> Self = Self(_mm512_set1_ps(value));
        load(from: *const f32) -> Self = Self(_mm512_loadu_ps(from));
        store(self: Self, to: *mut f32) = _mm512_storeu_ps(to, self.0);
        load_first(from: *const f32, count: usize) -> Self =
            Self(_mm512_maskz_loadu_ps(Self::first(count), from));
        store_first(self: Self, to: *mut f32, count: usize) =
            _mm512_mask_storeu_ps(to, Self::first(count), self.0);

        add(self: Self, other: Self) -> Self = Self(_mm512_add_ps(self.0, other.0));
        sub(self: Self, other: Self) -> Self = Self(_mm512_sub_ps(self.0, other.0));
        mul(self: Self, other: Self) -> Self = Self(_mm512_mul_ps(self.0, other.0));
        div(self: Self, other: Self) -> Self = Self(_mm512_div_ps(self.0, other.0));
        sqrt(self: Self) -> Self = Self(_mm512_sqrt_ps(self.0));
        min(self: Self, other: Self) -> Self = Self(_mm512_min_ps(self.0, other.0));
        max(self: Self, other: Self) -> Self = Self(_mm512_max_ps(self.0, other.0));
        abs(self: Self) -> Self = Self(_mm512_andnot_ps(_mm512_set1_ps(-0.0), self.0));
        xor(self: Self, other: Self) -> Self = Self(_mm512_xor_ps(self.0, other.0));
        negative(self: Self) -> Self = Self(_mm512_or_ps(_mm512_set1_ps(-0.0), self.0));
        mul_add(self: Self, factor: Self, term: Self) -> Self =
            Self(_mm512_fmadd_ps(self.0, factor.0, term.0));
        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let product = _mm512_mul_ps(self.0, factor.0);
            (Self(product), Self(_mm512_fmsub_ps(self.0, factor.0, product)))
        };
        reciprocal(self: Self) -> Self = Self(_mm512_rcp14_ps(self.0));

        round(self: Self) -> Self = Self(_mm512_roundscale_ps::<
            { _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC },
        >(self.0));
        scale(self: Self, exponent: Self) -> Self = Self(_mm512_scalef_ps(self.0, exponent.0));
        // Scaling takes the integer below an exponent by itself.
        split(self: Self) -> (Self, Self) = {
            let fraction =
                _mm512_reduce_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0);
            (Self(fraction), self)
        };

        less(self: Self, other: Self) -> Self::Mask =
            _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0);
        is_nan(self: Self) -> Self::Mask = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self.0, self.0);
        first(count: usize) -> Self::Mask = ((1_u32 << count) - 1) as __mmask16;
        all_less(self: Self, bound: f32) -> bool = self.less(Self::splat(bound)) == __mmask16::MAX;
        lookup(self: Self, table: &Table) -> Self = Self(_mm512_permutexvar_ps(
            _mm512_castps_si512(self.0),
            _mm512_load_ps(table.0.as_ptr()),
        ));
        select(mask: Self::Mask, yes: Self, no: Self) -> Self =
            Self(_mm512_mask_blend_ps(mask, no.0, yes.0));

        sum(self: Self) -> f32 = _mm512_reduce_add_ps(self.0);
        greatest(self: Self) -> f32 = {
            let high = _mm512_extractf32x8_ps::<1>(self.0);
            _mm256_max_ps(_mm512_castps512_ps256(self.0), high).greatest()
        };

        load_halves(from: *const u16) -> Self::Halves = _mm256_loadu_si256(from.cast());
        store_halves(halves: Self::Halves, to: *mut u16) = _mm256_storeu_si256(to.cast(), halves);
        load_halves_first(from: *const u16, count: usize) -> Self::Halves =
            _mm256_maskz_loadu_epi16(Self::first(count), from.cast());
        store_halves_first(halves: Self::Halves, to: *mut u16, count: usize) =
            _mm256_mask_storeu_epi16(to.cast(), Self::first(count), halves);

        four_in_step(four: [Self; 4]) -> [Self; 4] = in_step(four);

        from_bf16(halves: Self::Halves) -> Self =
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves))));
        to_bf16(self: Self) -> Self::Halves = {
            let exponents = _mm512_set1_epi32(0x7f80_0000);
            // The instruction takes subnormal numbers for zero.
            if HAS_BF16 && _mm512_testn_epi32_mask(_mm512_castps_si512(self.0), exponents) == 0 {
                // Registers of the same 256 bits.
                transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(self.0))
            } else {
                self.rounded_to_bf16()
            }
        };
        load_bf16_pair(from: *const u16) -> [Self; 2] = {
            // Each 32 bits hold the first element and the second.
            let both = _mm512_loadu_si512(from.cast());
            let second = _mm512_and_si512(both, _mm512_set1_epi32(0xffff_0000_u32 as i32));
            let first = _mm512_slli_epi32::<16>(both);
            [Self(_mm512_castsi512_ps(first)), Self(_mm512_castsi512_ps(second))]
        };
        store_bf16_pair(pair: [Self; 2], to: *mut u16) = {
            let half = _mm512_set1_epi32(0x8000);
            let first = _mm512_add_epi32(_mm512_castps_si512(pair[0].0), half);
            let second = _mm512_add_epi32(_mm512_castps_si512(pair[1].0), half);
            let both = _mm512_mask_mov_epi16(_mm512_srli_epi32::<16>(first), 0xaaaa_aaaa, second);
            _mm512_storeu_si512(to.cast(), both);
        };
        from_f16(halves: Self::Halves) -> Self = Self(_mm512_cvtph_ps(halves));
        to_f16(self: Self) -> Self::Halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0);

        from_i8(from: *const i8) -> Self =
            Self(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()))));
        from_u4(from: *const u8, shift: usize) -> Self = {
            let words = _mm512_loadu_si512(from.cast());
            let shifted = _mm512_srl_epi32(words, _mm_cvtsi32_si128(shift as i32));
            Self(_mm512_permutexvar_ps(shifted, _mm512_loadu_ps(CENTERED.as_ptr())))
        };
    }
}

impl<const HAS_BF16: bool> Avx512<HAS_BF16> {
    /// [`Vector::to_bf16`] without an instruction for it.
    #[inline(always)]
    unsafe fn rounded_to_bf16(self) -> __m256i {
        // SAFETY: the caller has the instructions.
        unsafe {
            let bits = _mm512_castps_si512(self.0);
            let last = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
            let half = _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff));
            // A NaN's payload must not be carried away; what is added makes it a quiet one.
            let nan = _mm512_castps_si512(self.add(self).0);
            let kept = _mm512_mask_mov_epi32(_mm512_add_epi32(bits, half), self.is_nan(), nan);
            _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(kept))
        }
    }
}

/// Returns the registers unchanged. To the compiler each depends on all four, so that it does not
/// compute one after the other.
#[inline]
#[target_feature(enable = "avx512f")]
fn in_step<const B: bool>(
    [Avx512(mut a), Avx512(mut b), Avx512(mut c), Avx512(mut d)]: [Avx512<B>; 4],
) -> [Avx512<B>; 4] {
    // SAFETY: a comment is no instruction.
    unsafe {
        asm!("/* {0} {1} {2} {3} */",
            inout(zmm_reg) a, inout(zmm_reg) b, inout(zmm_reg) c, inout(zmm_reg) d,
            options(pure, nomem, nostack, preserves_flags));
    }
    [Avx512(a), Avx512(b), Avx512(c), Avx512(d)]
}
