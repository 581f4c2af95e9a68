//! AVX-512 F, BW, DQ and VL: sixteen lanes.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one capability is the condition of every instruction"
)]

use std::arch::asm;
use std::arch::x86_64::*;

use super::{Capability, Table, Vector, methods};

impl Vector for __m512 {
    const CAPABILITY: Capability = Capability::Avx512;
    const LANES: usize = 16;
    type Mask = __mmask16;
    type Halves = __m256i;

    methods! {
        prefetch(address: *const u8) = _mm_prefetch::<_MM_HINT_T0>(address.cast());
        splat(value: f32) -> Self = _mm512_set1_ps(value);
        load(from: *const f32) -> Self = _mm512_loadu_ps(from);
        store(self: Self, to: *mut f32) = _mm512_storeu_ps(to, self);
        load_first(from: *const f32, count: usize) -> Self =
            _mm512_maskz_loadu_ps(Self::first(count), from);
        store_first(self: Self, to: *mut f32, count: usize) =
            _mm512_mask_storeu_ps(to, Self::first(count), self);

        add(self: Self, other: Self) -> Self = _mm512_add_ps(self, other);
        sub(self: Self, other: Self) -> Self = _mm512_sub_ps(self, other);
        mul(self: Self, other: Self) -> Self = _mm512_mul_ps(self, other);
        div(self: Self, other: Self) -> Self = _mm512_div_ps(self, other);
        sqrt(self: Self) -> Self = _mm512_sqrt_ps(self);
        min(self: Self, other: Self) -> Self = _mm512_min_ps(self, other);
        max(self: Self, other: Self) -> Self = _mm512_max_ps(self, other);
        abs(self: Self) -> Self = _mm512_andnot_ps(_mm512_set1_ps(-0.0), self);
        xor(self: Self, other: Self) -> Self = _mm512_xor_ps(self, other);
        negative(self: Self) -> Self = _mm512_or_ps(_mm512_set1_ps(-0.0), self);
        mul_add(self: Self, factor: Self, term: Self) -> Self = _mm512_fmadd_ps(self, factor, term);
        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let product = _mm512_mul_ps(self, factor);
            (product, _mm512_fmsub_ps(self, factor, product))
        };
        reciprocal(self: Self) -> Self = _mm512_rcp14_ps(self);

        round(self: Self) -> Self =
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self);
        scale(self: Self, exponent: Self) -> Self = _mm512_scalef_ps(self, exponent);
        // Scaling takes the integer below an exponent by itself.
        split(self: Self) -> (Self, Self) =
            (_mm512_reduce_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self), self);

        less(self: Self, other: Self) -> Self::Mask = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self, other);
        is_nan(self: Self) -> Self::Mask = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self, self);
        first(count: usize) -> Self::Mask = ((1_u32 << count) - 1) as __mmask16;
        all_less(self: Self, bound: f32) -> bool = self.less(Self::splat(bound)) == __mmask16::MAX;
        lookup(self: Self, table: &Table) -> Self =
            _mm512_permutexvar_ps(_mm512_castps_si512(self), _mm512_load_ps(table.0.as_ptr()));
        select(mask: Self::Mask, yes: Self, no: Self) -> Self =
            _mm512_mask_blend_ps(mask, no, yes);

        sum(self: Self) -> f32 = _mm512_reduce_add_ps(self);
        greatest(self: Self) -> f32 = {
            let eight =
                _mm256_max_ps(_mm512_castps512_ps256(self), _mm512_extractf32x8_ps::<1>(self));
            eight.greatest()
        };

        load_halves(from: *const u16) -> Self::Halves = _mm256_loadu_si256(from.cast());
        store_halves(halves: Self::Halves, to: *mut u16) = _mm256_storeu_si256(to.cast(), halves);
        load_halves_first(from: *const u16, count: usize) -> Self::Halves =
            _mm256_maskz_loadu_epi16(Self::first(count), from.cast());
        store_halves_first(halves: Self::Halves, to: *mut u16, count: usize) =
            _mm256_mask_storeu_epi16(to.cast(), Self::first(count), halves);

        four_in_step(four: [Self; 4]) -> [Self; 4] = in_step(four);

        from_bf16(halves: Self::Halves) -> Self =
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves)));
        to_bf16(self: Self) -> Self::Halves = {
            let bits = _mm512_castps_si512(self);
            let last = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
            let half = _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff));
            // A NaN's payload must not be carried away; what is added makes it a quiet one.
            let nan = _mm512_castps_si512(self.add(self));
            let kept = _mm512_mask_mov_epi32(_mm512_add_epi32(bits, half), self.is_nan(), nan);
            _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(kept))
        };
        load_bf16_pair(from: *const u16) -> [Self; 2] = {
            // Of each 32 bits the first element and the second.
            let both = _mm512_loadu_si512(from.cast());
            let second = _mm512_and_si512(both, _mm512_set1_epi32(0xffff_0000_u32 as i32));
            [
                _mm512_castsi512_ps(_mm512_slli_epi32::<16>(both)),
                _mm512_castsi512_ps(second),
            ]
        };
        store_bf16_pair(pair: [Self; 2], to: *mut u16) = {
            let half = _mm512_set1_epi32(0x8000);
            let first = _mm512_add_epi32(_mm512_castps_si512(pair[0]), half);
            let second = _mm512_add_epi32(_mm512_castps_si512(pair[1]), half);
            let both = _mm512_mask_mov_epi16(_mm512_srli_epi32::<16>(first), 0xaaaa_aaaa, second);
            _mm512_storeu_si512(to.cast(), both);
        };
        from_f16(halves: Self::Halves) -> Self = _mm512_cvtph_ps(halves);
        to_f16(self: Self) -> Self::Halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self);
    }
}

/// The same registers, for the compiler a result of all of them, so that it does not compute one
/// after the other.
#[inline]
#[target_feature(enable = "avx512f")]
fn in_step([mut a, mut b, mut c, mut d]: [__m512; 4]) -> [__m512; 4] {
    // SAFETY: a comment is no instruction.
    unsafe {
        asm!("/* {0} {1} {2} {3} */",
            inout(zmm_reg) a, inout(zmm_reg) b, inout(zmm_reg) c, inout(zmm_reg) d,
            options(pure, nomem, nostack, preserves_flags));
    }
    [a, b, c, d]
}
