//! Plain Rust, one value at a time: what every CPU of an architecture has.
//!
//! It has to be right rather than fast. Of the CPUs that libtorch has wheels for, only x86-64 ones older than 2013 run
//! it, and several lanes of plain Rust once were half of this crate's code and compile time.

use half::{bf16, f16};

use super::{Capability, Table, Vector, methods};

/// Added and subtracted, it leaves no room for a fraction.
const NO_FRACTION: f32 = 1.5 * (1 << 23) as f32;

impl Vector for f32 {
    const CAPABILITY: Capability = Capability::Default;
    const LANES: usize = 1;
    type Mask = bool;
    type Halves = u16;

    methods! {
        splat(value: f32) -> Self = value;
        load(from: *const f32) -> Self = from.read_unaligned();
        store(self: Self, to: *mut f32) = to.write_unaligned(self);
        load_first(from: *const f32, count: usize) -> Self =
            if count == 0 { 0.0 } else { from.read_unaligned() };
        store_first(self: Self, to: *mut f32, count: usize) =
            if count > 0 { to.write_unaligned(self) };

        add(self: Self, other: Self) -> Self = self + other;
        sub(self: Self, other: Self) -> Self = self - other;
        mul(self: Self, other: Self) -> Self = self * other;
        div(self: Self, other: Self) -> Self = self / other;
        sqrt(self: Self) -> Self = f32::sqrt(self);
        min(self: Self, other: Self) -> Self = if self < other { self } else { other };
        max(self: Self, other: Self) -> Self = if self > other { self } else { other };
        abs(self: Self) -> Self = f32::abs(self);
        xor(self: Self, other: Self) -> Self = f32::from_bits(self.to_bits() ^ other.to_bits());
        negative(self: Self) -> Self = -f32::abs(self);
        mul_add(self: Self, factor: Self, term: Self) -> Self = self * factor + term;
        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let product = self * factor;
            // The product has 48 bits, which float64 has room for.
            let rest = f64::from(self) * f64::from(factor) - f64::from(product);
            (product, rest as f32)
        };
        reciprocal(self: Self) -> Self = 1.0 / self;

        round(self: Self) -> Self = self + NO_FRACTION - NO_FRACTION;
        scale(self: Self, exponent: Self) -> Self = {
            // Two factors, as 2^exponent may be no float32.
            let half = Vector::round(exponent * 0.5);
            self * power_of_two(half) * power_of_two(exponent - half)
        };

        less(self: Self, other: Self) -> bool = self < other;
        is_nan(self: Self) -> bool = f32::is_nan(self);
        first(count: usize) -> bool = count > 0;
        all_less(self: Self, bound: f32) -> bool = self < bound;
        lookup(self: Self, table: &Table) -> Self = table.0[(self.to_bits() % 16) as usize];
        select(mask: bool, yes: Self, no: Self) -> Self = if mask { yes } else { no };

        sum(self: Self) -> f32 = self;
        greatest(self: Self) -> f32 = self;

        load_halves(from: *const u16) -> u16 = from.read_unaligned();
        store_halves(halves: u16, to: *mut u16) = to.write_unaligned(halves);
        load_halves_first(from: *const u16, count: usize) -> u16 =
            if count == 0 { 0 } else { from.read_unaligned() };
        store_halves_first(halves: u16, to: *mut u16, count: usize) =
            if count > 0 { to.write_unaligned(halves) };

        from_bf16(halves: u16) -> Self = f32::from_bits(u32::from(halves) << 16);
        to_bf16(self: Self) -> u16 = bf16::from_f32(self).to_bits();
        from_f16(halves: u16) -> Self = f16::from_bits(halves).to_f32_const();
        to_f16(self: Self) -> u16 = f16::from_f32_const(self).to_bits();
    }
}

/// 2 to an integer from −126 to 127.
#[inline(always)]
fn power_of_two(exponent: f32) -> f32 {
    f32::from_bits(((exponent as i32 + 127) as u32) << 23)
}
