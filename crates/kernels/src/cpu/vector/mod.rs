//! Registers of float32 values: what the operators' kernels ask of an instruction set.
//!
//! A kernel is written once, over a [`Vector`] and an [`Element`], as a [`Kernel`], and runs with
//! the instructions of a [`Capability`](super::Capability).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod element;
mod kernel;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(test)]
mod shuffled_tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod some;
#[cfg(test)]
mod tests;
mod together;

#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub(crate) use element::with_element;
pub use element::{Element, unsupported};
pub use kernel::{Kernel, run_out_of_line};
pub use together::{REGISTERS, Together};

use super::Capability;

/// A [`Vector`] looks values up in it, in [`Vector::ENTRIES`] of them: a line of a cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Table(pub [f32; 16]);

/// Lanes of the widest register.
pub const MOST_LANES: usize = 16;

/// A register of float32 values. All methods are inlined into a function that has the instructions
/// enabled, which is what makes calling them sound.
///
/// # Safety
/// For every method, the CPU has the instructions. Where one takes an address, so many elements can
/// be read or written there as it says; no alignment is promised.
pub trait Vector: Copy {
    /// The instructions that it is of.
    const CAPABILITY: Capability;
    /// Values in it.
    const LANES: usize;
    /// Values of a [`Table`] that one instruction reaches.
    const ENTRIES: usize = 16;
    /// Yes or no for each lane.
    type Mask: Copy;
    /// An equal number of 16-bit elements.
    type Halves: Copy;

    /// Asks for the cache line at an address, which need not be one of the program's memory.
    #[inline(always)]
    unsafe fn prefetch(_: *const u8) {}

    /// Puts `value` into every lane.
    unsafe fn splat(value: f32) -> Self;
    /// [`Self::LANES`] values.
    unsafe fn load(from: *const f32) -> Self;
    /// Writes [`Self::LANES`] values.
    unsafe fn store(self, to: *mut f32);
    /// `count` values, at most [`Self::LANES`], and 0 in the other lanes.
    unsafe fn load_first(from: *const f32, count: usize) -> Self;
    /// Writes the first `count` values, at most [`Self::LANES`].
    unsafe fn store_first(self, to: *mut f32, count: usize);

    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self − other`.
    unsafe fn sub(self, other: Self) -> Self;
    /// `self · other`.
    unsafe fn mul(self, other: Self) -> Self;
    /// `self / other`.
    unsafe fn div(self, other: Self) -> Self;
    /// `√self`.
    unsafe fn sqrt(self) -> Self;
    /// `self` where it is less than `other`, else `other`; so `bound.min(x)` keeps a NaN in `x`.
    unsafe fn min(self, other: Self) -> Self;
    /// `self` where it is greater than `other`, else `other`; so `bound.max(x)` keeps a NaN in `x`.
    unsafe fn max(self, other: Self) -> Self;
    /// `|self|`.
    unsafe fn abs(self) -> Self;
    /// The exclusive or of the bits.
    unsafe fn xor(self, other: Self) -> Self;
    /// `−|self|`.
    unsafe fn negative(self) -> Self;
    /// `self · factor + term`, rounded once where the instructions can.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The product, rounded, and what has to be added to it to be exact, as long as neither
    /// overflows nor underflows.
    unsafe fn mul_exact(self, factor: Self) -> (Self, Self);
    /// `1 / self`, where that is a normal number, with a relative error below 2⁻¹³.
    unsafe fn reciprocal(self) -> Self;

    /// The nearest integer, of two the even one, where that is from −2²² to 2²².
    unsafe fn round(self) -> Self;
    /// `self · 2^exponent`, for integers from −252 to 254: rounded once, also to a subnormal number,
    /// if `self` is a normal number from 2⁻²⁰ to 2²⁰.
    unsafe fn scale(self, exponent: Self) -> Self;

    /// A fraction from 0 to 1 and an exponent for [`Self::scale`], which are `self` together; beyond
    /// −160 and 160, they may be those of these numbers.
    #[inline(always)]
    unsafe fn split(self) -> (Self, Self) {
        // SAFETY: the caller's promise.
        unsafe {
            let from = Self::splat(160.0).min(Self::splat(-160.0).max(self));
            let exponent = from.sub(Self::splat(0.5)).round();
            (from.sub(exponent), exponent)
        }
    }

    /// Says for each lane whether `self < other`.
    unsafe fn less(self, other: Self) -> Self::Mask;
    /// Says for each lane whether it is NaN.
    unsafe fn is_nan(self) -> Self::Mask;
    /// The first `count` lanes, at most [`Self::LANES`].
    unsafe fn first(count: usize) -> Self::Mask;
    /// Whether every lane is less than the bound, or NaN; one with a NaN may also be said not to be.
    unsafe fn all_less(self, bound: f32) -> bool;
    /// For each lane the value of a table that the last bits of the lane are the index of: as many as count
    /// [`Self::ENTRIES`].
    unsafe fn lookup(self, table: &Table) -> Self;
    /// `yes` where the mask says so, else `no`.
    unsafe fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// The sum of all lanes, added in pairs.
    unsafe fn sum(self) -> f32;
    /// The greatest of all lanes; any of them if there is a NaN.
    unsafe fn greatest(self) -> f32;

    /// [`Self::LANES`] elements.
    unsafe fn load_halves(from: *const u16) -> Self::Halves;
    /// Writes [`Self::LANES`] elements.
    unsafe fn store_halves(halves: Self::Halves, to: *mut u16);
    /// `count` elements, at most [`Self::LANES`], and zeros.
    unsafe fn load_halves_first(from: *const u16, count: usize) -> Self::Halves;
    /// Writes the first `count` elements, at most [`Self::LANES`].
    unsafe fn store_halves_first(halves: Self::Halves, to: *mut u16, count: usize);

    /// `self`; but of several registers [`Together`], every one has to be there before the first is
    /// used.
    #[inline(always)]
    unsafe fn in_step(self) -> Self {
        self
    }
    /// [`Self::in_step`] for four registers, on instruction sets that gain by it.
    #[inline(always)]
    unsafe fn four_in_step(four: [Self; 4]) -> [Self; 4] {
        four
    }

    /// The values of bfloat16 elements.
    unsafe fn from_bf16(halves: Self::Halves) -> Self;
    /// Rounded to the nearest bfloat16, of two the even one. Subnormal numbers are kept, a NaN
    /// remains one.
    unsafe fn to_bf16(self) -> Self::Halves;
    /// Twice [`Self::LANES`] bfloat16 elements, in an order that [`Self::store_bf16_pair`] undoes.
    #[inline(always)]
    unsafe fn load_bf16_pair(from: *const u16) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let first = Self::load_halves(from);
            let second = Self::load_halves(from.wrapping_add(Self::LANES));
            [Self::from_bf16(first), Self::from_bf16(second)]
        }
    }
    /// Writes twice [`Self::LANES`] values as bfloat16, each rounded to the nearest, of two to either.
    /// A NaN has to be one whose last 16 bits are 0, as those are that come of bfloat16 elements.
    #[inline(always)]
    unsafe fn store_bf16_pair([first, second]: [Self; 2], to: *mut u16) {
        // SAFETY: the caller's promise.
        unsafe {
            let halves = [first.to_bf16(), second.to_bf16()];
            Self::store_halves(halves[0], to);
            Self::store_halves(halves[1], to.wrapping_add(Self::LANES));
        }
    }
    /// [`Self::LANES`] bfloat16 elements, in an order that [`Self::store_bf16_shuffled`] undoes.
    #[inline(always)]
    unsafe fn load_bf16_shuffled(from: *const u16) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_bf16(Self::load_halves(from)) }
    }
    /// Writes [`Self::LANES`] values as [`Self::store_bf16_pair`] does.
    #[inline(always)]
    unsafe fn store_bf16_shuffled(self, to: *mut u16) {
        // SAFETY: the caller's promise.
        unsafe { Self::store_halves(self.to_bf16(), to) };
    }
    /// The values of float16 elements.
    unsafe fn from_f16(halves: Self::Halves) -> Self;
    /// Rounded to the nearest float16, as [`Self::to_bf16`].
    unsafe fn to_f16(self) -> Self::Halves;

    /// [`Self::LANES`] integers.
    #[inline(always)]
    unsafe fn from_i8(from: *const i8) -> Self {
        const { assert!(Self::LANES <= MOST_LANES) };
        let mut values = [0.0; MOST_LANES];
        for (lane, value) in values.iter_mut().enumerate().take(Self::LANES) {
            // SAFETY: the caller's promise.
            *value = f32::from(unsafe { from.wrapping_add(lane).read() });
        }
        // SAFETY: the caller has the instructions; there is room for the widest register.
        unsafe { Self::load(values.as_ptr()) }
    }
    /// `q − 8` for the four bits `q` from `shift` on of each of [`Self::LANES`] words of 32 bits,
    /// little-endian.
    #[inline(always)]
    unsafe fn from_u4(from: *const u8, shift: usize) -> Self {
        const { assert!(Self::LANES <= MOST_LANES) };
        let mut values = [0.0; MOST_LANES];
        for (lane, value) in values.iter_mut().enumerate().take(Self::LANES) {
            // SAFETY: the caller's promise.
            let word =
                u32::from_le(unsafe { from.cast::<u32>().wrapping_add(lane).read_unaligned() });
            *value = ((word >> shift & 15) as i32 - 8) as f32;
        }
        // SAFETY: the caller has the instructions; there is room for the widest register.
        unsafe { Self::load(values.as_ptr()) }
    }
}

/// Methods of a [`Vector`], each one expression of instructions.
macro_rules! methods {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:expr;)*) => {$(
        #[inline(always)]
        #[allow(unused_unsafe, reason = "an expression may ask for no promise")]
        unsafe fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: the caller has the instructions, and the elements of a load or store.
            unsafe { $body }
        }
    )*};
}
use methods;
