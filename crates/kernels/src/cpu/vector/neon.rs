//! NEON, which every 64-bit Arm CPU has: four lanes.

use std::arch::aarch64::*;
use std::arch::asm;

use super::{Capability, Table, Vector, methods, some};

impl Vector for float32x4_t {
    const CAPABILITY: Capability = Capability::Neon;
    const LANES: usize = 4;
    type Mask = uint32x4_t;
    type Halves = uint16x4_t;

    methods! {
        splat(value: f32) -> Self = vdupq_n_f32(value);
        load(from: *const f32) -> Self = vld1q_f32(from);
        store(self: Self, to: *mut f32) = vst1q_f32(to, self);
        load_first(from: *const f32, count: usize) -> Self =
            vld1q_f32(some::load(from, count).as_ptr());
        store_first(self: Self, to: *mut f32, count: usize) =
            some::store(|room| vst1q_f32(room, self), to, count);

        add(self: Self, other: Self) -> Self = vaddq_f32(self, other);
        sub(self: Self, other: Self) -> Self = vsubq_f32(self, other);
        mul(self: Self, other: Self) -> Self = vmulq_f32(self, other);
        div(self: Self, other: Self) -> Self = vdivq_f32(self, other);
        sqrt(self: Self) -> Self = vsqrtq_f32(self);
        min(self: Self, other: Self) -> Self = vbslq_f32(vcltq_f32(self, other), self, other);
        max(self: Self, other: Self) -> Self = vbslq_f32(vcgtq_f32(self, other), self, other);
        abs(self: Self) -> Self = vabsq_f32(self);
        xor(self: Self, other: Self) -> Self = vreinterpretq_f32_u32(veorq_u32(
            vreinterpretq_u32_f32(self),
            vreinterpretq_u32_f32(other),
        ));
        negative(self: Self) -> Self = vnegq_f32(vabsq_f32(self));
        mul_add(self: Self, factor: Self, term: Self) -> Self = vfmaq_f32(term, self, factor);
        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let product = vmulq_f32(self, factor);
            (product, vnegq_f32(vfmsq_f32(product, self, factor)))
        };
        reciprocal(self: Self) -> Self = {
            // An estimate of 8 bits, and a step of Newton's.
            let estimate = vrecpeq_f32(self);
            vmulq_f32(estimate, vrecpsq_f32(self, estimate))
        };

        round(self: Self) -> Self = vrndnq_f32(self);
        scale(self: Self, exponent: Self) -> Self = {
            // Two factors, as 2^exponent may be no float32.
            let half = vrndnq_f32(vmulq_n_f32(exponent, 0.5));
            let rest = vsubq_f32(exponent, half);
            vmulq_f32(vmulq_f32(self, power_of_two(half)), power_of_two(rest))
        };

        less(self: Self, other: Self) -> Self::Mask = vcltq_f32(self, other);
        is_nan(self: Self) -> Self::Mask = vmvnq_u32(vceqq_f32(self, self));
        first(count: usize) -> Self::Mask =
            vcltq_u32(vld1q_u32([0, 1, 2, 3].as_ptr()), vdupq_n_u32(count as u32));
        all_less(self: Self, bound: f32) -> bool = vminvq_u32(self.less(Self::splat(bound))) != 0;
        lookup(self: Self, table: &Table) -> Self = {
            let index = vandq_u32(vreinterpretq_u32_f32(self), vdupq_n_u32(15));
            // Each of a value's four bytes by its own place in the table.
            let bytes = vmlaq_u32(vdupq_n_u32(0x0302_0100), index, vdupq_n_u32(0x0404_0404));
            let table = vld1q_u8_x4(table.0.as_ptr().cast());
            vreinterpretq_f32_u8(vqtbl4q_u8(table, vreinterpretq_u8_u32(bytes)))
        };
        select(mask: Self::Mask, yes: Self, no: Self) -> Self = vbslq_f32(mask, yes, no);

        sum(self: Self) -> f32 = vaddvq_f32(self);
        greatest(self: Self) -> f32 = vmaxvq_f32(self);

        load_halves(from: *const u16) -> Self::Halves = vld1_u16(from);
        store_halves(halves: Self::Halves, to: *mut u16) = vst1_u16(to, halves);
        load_halves_first(from: *const u16, count: usize) -> Self::Halves =
            vld1_u16(some::load(from, count).as_ptr());
        store_halves_first(halves: Self::Halves, to: *mut u16, count: usize) =
            some::store(|room| vst1_u16(room, halves), to, count);

        from_bf16(halves: Self::Halves) -> Self = vreinterpretq_f32_u32(vshll_n_u16::<16>(halves));
        to_bf16(self: Self) -> Self::Halves = {
            let bits = vreinterpretq_u32_f32(self);
            let last = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
            let rounded = vaddq_u32(bits, vaddq_u32(last, vdupq_n_u32(0x7fff)));
            // A NaN's payload must not be carried away; what is added makes it a quiet one.
            let nan = vreinterpretq_u32_f32(vaddq_f32(self, self));
            vshrn_n_u32::<16>(vbslq_u32(self.is_nan(), nan, rounded))
        };
        from_f16(halves: Self::Halves) -> Self = widened(halves);
        to_f16(self: Self) -> Self::Halves = narrowed(self);
    }
}

/// 2 to an integer from −126 to 127.
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
unsafe fn power_of_two(exponent: float32x4_t) -> float32x4_t {
    // SAFETY: the caller has NEON.
    unsafe {
        let biased = vaddq_s32(vcvtq_s32_f32(exponent), vdupq_n_s32(127));
        vreinterpretq_f32_s32(vshlq_n_s32::<23>(biased))
    }
}

/// The values of float16 elements. Instructions by name, as Rust's functions for them are newer than
/// the oldest Rust that this crate supports.
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
unsafe fn widened(halves: uint16x4_t) -> float32x4_t {
    let values: float32x4_t;
    // SAFETY: the caller has NEON; registers are all that it touches.
    unsafe {
        asm!("fcvtl {0:v}.4s, {1:v}.4h", out(vreg) values, in(vreg) halves,
            options(pure, nomem, nostack, preserves_flags));
    }
    values
}

/// Rounded to the nearest float16, of two the even one; as [`widened`].
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
unsafe fn narrowed(values: float32x4_t) -> uint16x4_t {
    let halves: uint16x4_t;
    // SAFETY: the caller has NEON; registers are all that it touches.
    unsafe {
        asm!("fcvtn {0:v}.4h, {1:v}.4s", out(vreg) halves, in(vreg) values,
            options(pure, nomem, nostack, preserves_flags));
    }
    halves
}
