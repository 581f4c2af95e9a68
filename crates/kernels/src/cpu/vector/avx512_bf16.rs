//! AVX-512 BF16: the sixteen lanes of AVX-512, rounded to bfloat16 by an instruction.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one capability is the condition of every instruction"
)]

use std::arch::x86_64::*;
use std::mem::transmute;

use super::{Capability, Table, Vector, methods};

/// A register of AVX-512.
#[derive(Debug, Clone, Copy)]
pub struct Avx512Bf16(__m512);

impl Vector for Avx512Bf16 {
    const CAPABILITY: Capability = Capability::Avx512Bf16;
    const LANES: usize = <__m512 as Vector>::LANES;
    type Mask = <__m512 as Vector>::Mask;
    type Halves = <__m512 as Vector>::Halves;

    methods! {
        prefetch(address: *const u8) = __m512::prefetch(address);
        splat(value: f32) -> Self = Self(__m512::splat(value));
        load(from: *const f32) -> Self = Self(__m512::load(from));
        store(self: Self, to: *mut f32) = self.0.store(to);
        load_first(from: *const f32, count: usize) -> Self = Self(__m512::load_first(from, count));
        store_first(self: Self, to: *mut f32, count: usize) = self.0.store_first(to, count);

        add(self: Self, other: Self) -> Self = Self(self.0.add(other.0));
        sub(self: Self, other: Self) -> Self = Self(self.0.sub(other.0));
        mul(self: Self, other: Self) -> Self = Self(self.0.mul(other.0));
        div(self: Self, other: Self) -> Self = Self(self.0.div(other.0));
        sqrt(self: Self) -> Self = Self(self.0.sqrt());
        min(self: Self, other: Self) -> Self = Self(self.0.min(other.0));
        max(self: Self, other: Self) -> Self = Self(self.0.max(other.0));
        xor(self: Self, other: Self) -> Self = Self(self.0.xor(other.0));
        abs(self: Self) -> Self = Self(self.0.abs());
        negative(self: Self) -> Self = Self(self.0.negative());
        mul_add(self: Self, factor: Self, term: Self) -> Self =
            Self(self.0.mul_add(factor.0, term.0));
        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let (product, rest) = self.0.mul_exact(factor.0);
            (Self(product), Self(rest))
        };
        reciprocal(self: Self) -> Self = Self(self.0.reciprocal());

        round(self: Self) -> Self = Self(self.0.round());
        scale(self: Self, exponent: Self) -> Self = Self(self.0.scale(exponent.0));
        split(self: Self) -> (Self, Self) = {
            let (fraction, exponent) = self.0.split();
            (Self(fraction), Self(exponent))
        };

        less(self: Self, other: Self) -> Self::Mask = self.0.less(other.0);
        is_nan(self: Self) -> Self::Mask = self.0.is_nan();
        first(count: usize) -> Self::Mask = __m512::first(count);
        all_less(self: Self, bound: f32) -> bool = self.0.all_less(bound);
        lookup(self: Self, table: &Table) -> Self = Self(self.0.lookup(table));
        select(mask: Self::Mask, yes: Self, no: Self) -> Self =
            Self(__m512::select(mask, yes.0, no.0));

        sum(self: Self) -> f32 = self.0.sum();
        greatest(self: Self) -> f32 = self.0.greatest();

        load_halves(from: *const u16) -> Self::Halves = __m512::load_halves(from);
        store_halves(halves: Self::Halves, to: *mut u16) = __m512::store_halves(halves, to);
        load_halves_first(from: *const u16, count: usize) -> Self::Halves =
            __m512::load_halves_first(from, count);
        store_halves_first(halves: Self::Halves, to: *mut u16, count: usize) =
            __m512::store_halves_first(halves, to, count);

        four_in_step(four: [Self; 4]) -> [Self; 4] = {
            let [Self(a), Self(b), Self(c), Self(d)] = four;
            let [a, b, c, d] = __m512::four_in_step([a, b, c, d]);
            [Self(a), Self(b), Self(c), Self(d)]
        };

        from_bf16(halves: Self::Halves) -> Self = Self(__m512::from_bf16(halves));
        to_bf16(self: Self) -> Self::Halves = {
            // The instruction takes subnormal numbers for zero.
            let exponents = _mm512_set1_epi32(0x7f80_0000);
            let small = _mm512_testn_epi32_mask(_mm512_castps_si512(self.0), exponents);
            if small == 0 {
                // Registers of the same 256 bits.
                transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(self.0))
            } else {
                self.0.to_bf16()
            }
        };
        load_bf16_pair(from: *const u16) -> [Self; 2] = {
            let [first, second] = __m512::load_bf16_pair(from);
            [Self(first), Self(second)]
        };
        store_bf16_pair(pair: [Self; 2], to: *mut u16) =
            __m512::store_bf16_pair([pair[0].0, pair[1].0], to);
        from_f16(halves: Self::Halves) -> Self = Self(__m512::from_f16(halves));
        to_f16(self: Self) -> Self::Halves = self.0.to_f16();
    }
}
