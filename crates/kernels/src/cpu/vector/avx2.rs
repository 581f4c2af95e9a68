//! AVX2, FMA and F16C: eight lanes.

use std::arch::asm;
use std::arch::x86_64::*;

use super::{Capability, Table, Vector, methods, some};

impl Vector for __m256 {
    const CAPABILITY: Capability = Capability::Avx2;
    const LANES: usize = 8;
    const ENTRIES: usize = 8;
    type Mask = __m256;
    type Halves = __m128i;

    methods! {
        prefetch(address: *const u8) = _mm_prefetch::<_MM_HINT_T0>(address.cast());
        splat(value: f32) -> Self = _mm256_set1_ps(value);
        load(from: *const f32) -> Self = _mm256_loadu_ps(from);
        store(self: Self, to: *mut f32) = _mm256_storeu_ps(to, self);
        load_first(from: *const f32, count: usize) -> Self =
            _mm256_maskload_ps(from, _mm256_castps_si256(Self::first(count)));
        store_first(self: Self, to: *mut f32, count: usize) =
            _mm256_maskstore_ps(to, _mm256_castps_si256(Self::first(count)), self);

        add(self: Self, other: Self) -> Self = _mm256_add_ps(self, other);
        sub(self: Self, other: Self) -> Self = _mm256_sub_ps(self, other);
        mul(self: Self, other: Self) -> Self = _mm256_mul_ps(self, other);
        div(self: Self, other: Self) -> Self = _mm256_div_ps(self, other);
        sqrt(self: Self) -> Self = _mm256_sqrt_ps(self);
        min(self: Self, other: Self) -> Self = _mm256_min_ps(self, other);
        max(self: Self, other: Self) -> Self = _mm256_max_ps(self, other);
        abs(self: Self) -> Self = _mm256_andnot_ps(_mm256_set1_ps(-0.0), self);
        xor(self: Self, other: Self) -> Self = _mm256_xor_ps(self, other);
        negative(self: Self) -> Self = _mm256_or_ps(_mm256_set1_ps(-0.0), self);
        mul_add(self: Self, factor: Self, term: Self) -> Self = _mm256_fmadd_ps(self, factor, term);
        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let product = _mm256_mul_ps(self, factor);
            (product, _mm256_fmsub_ps(self, factor, product))
        };
        reciprocal(self: Self) -> Self = {
            // An estimate of 12 bits, and a step of Newton's.
            let estimate = _mm256_rcp_ps(self);
            let error = _mm256_fnmadd_ps(self, estimate, _mm256_set1_ps(1.0));
            _mm256_fmadd_ps(estimate, error, estimate)
        };

        round(self: Self) -> Self =
            _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self);
        scale(self: Self, exponent: Self) -> Self = {
            // Two factors, as 2^exponent may be no float32: their biased exponents have a sum that becomes the last bits
            // of a large number, and what stands above is shifted out.
            let sum = exponent.add(Self::splat(1.5 * (1 << 23) as f32 + 254.0));
            let sum = _mm256_castps_si256(sum);
            let half = _mm256_srli_epi32::<1>(sum);
            let rest = _mm256_sub_epi32(sum, half);
            let half = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(half));
            let rest = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(rest));
            self.mul(half).mul(rest)
        };

        less(self: Self, other: Self) -> Self::Mask = _mm256_cmp_ps::<_CMP_LT_OQ>(self, other);
        is_nan(self: Self) -> Self::Mask = _mm256_cmp_ps::<_CMP_UNORD_Q>(self, self);
        first(count: usize) -> Self::Mask = {
            let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), lanes))
        };
        all_less(self: Self, bound: f32) -> bool = _mm256_movemask_ps(self.less(Self::splat(bound))) == 0xff;
        lookup(self: Self, table: &Table) -> Self = _mm256_permutevar8x32_ps(
            _mm256_load_ps(table.0.as_ptr()),
            _mm256_castps_si256(self),
        );
        select(mask: Self::Mask, yes: Self, no: Self) -> Self = _mm256_blendv_ps(no, yes, mask);

        sum(self: Self) -> f32 = {
            let four = _mm_add_ps(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        };
        greatest(self: Self) -> f32 = {
            let four = _mm_max_ps(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        };

        load_halves(from: *const u16) -> Self::Halves = _mm_loadu_si128(from.cast());
        store_halves(halves: Self::Halves, to: *mut u16) = _mm_storeu_si128(to.cast(), halves);
        load_halves_first(from: *const u16, count: usize) -> Self::Halves =
            _mm_loadu_si128(some::load(from, count).as_ptr().cast());
        store_halves_first(halves: Self::Halves, to: *mut u16, count: usize) =
            some::store(|room| _mm_storeu_si128(room.cast(), halves), to, count);

        four_in_step(four: [Self; 4]) -> [Self; 4] = in_step(four);

        from_bf16(halves: Self::Halves) -> Self =
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves)));
        to_bf16(self: Self) -> Self::Halves = {
            let bits = _mm256_castps_si256(self);
            let last = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let half = _mm256_add_epi32(last, _mm256_set1_epi32(0x7fff));
            let rounded = _mm256_castsi256_ps(_mm256_add_epi32(bits, half));
            // A NaN's payload must not be carried away; what is added makes it a quiet one.
            let kept = Self::select(self.is_nan(), self.add(self), rounded);
            let words = _mm256_srli_epi32::<16>(_mm256_castps_si256(kept));
            _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words))
        };
        load_bf16_pair(from: *const u16) -> [Self; 2] = {
            // Each 32 bits hold the first element and the second.
            let both = _mm256_loadu_si256(from.cast());
            let second = _mm256_and_si256(both, _mm256_set1_epi32(0xffff_0000_u32 as i32));
            [
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(both)),
                _mm256_castsi256_ps(second),
            ]
        };
        store_bf16_pair(pair: [Self; 2], to: *mut u16) = {
            let half = _mm256_set1_epi32(0x8000);
            let first = _mm256_add_epi32(_mm256_castps_si256(pair[0]), half);
            let second = _mm256_add_epi32(_mm256_castps_si256(pair[1]), half);
            let both = _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(first), second);
            _mm256_storeu_si256(to.cast(), both);
        };
        from_f16(halves: Self::Halves) -> Self = _mm256_cvtph_ps(halves);
        to_f16(self: Self) -> Self::Halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self);

        from_i8(from: *const i8) -> Self =
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast())));
        from_u4(from: *const u8, shift: usize) -> Self = {
            let words = _mm256_loadu_si256(from.cast());
            let shifted = _mm256_srl_epi32(words, _mm_cvtsi32_si128(shift as i32));
            let nibbles = _mm256_and_si256(shifted, _mm256_set1_epi32(15));
            _mm256_cvtepi32_ps(_mm256_sub_epi32(nibbles, _mm256_set1_epi32(8)))
        };
    }
}

/// Returns the registers as results of one instruction, so that the compiler does not compute one after the other.
#[inline]
#[target_feature(enable = "avx2")]
fn in_step([mut a, mut b, mut c, mut d]: [__m256; 4]) -> [__m256; 4] {
    // SAFETY: a comment is no instruction.
    unsafe {
        asm!("/* {0} {1} {2} {3} */",
            inout(ymm_reg) a, inout(ymm_reg) b, inout(ymm_reg) c, inout(ymm_reg) d,
            options(pure, nomem, nostack, preserves_flags));
    }
    [a, b, c, d]
}
