//! Plain Rust: what every CPU of an architecture has, in registers where the compiler finds them.

use std::array::from_fn;

use half::{bf16, f16};

use super::{Capability, Table, Vector, methods};

/// Added and subtracted, it leaves no room for a fraction.
const NO_FRACTION: f32 = 1.5 * (1 << 23) as f32;

impl<const N: usize> Vector for [f32; N] {
    const CAPABILITY: Capability = Capability::Default;
    const LANES: usize = N;
    type Mask = [bool; N];
    type Halves = [u16; N];

    methods! {
        splat(value: f32) -> Self = [value; N];
        load(from: *const f32) -> Self = from.cast::<Self>().read_unaligned();
        store(self: Self, to: *mut f32) = to.cast::<Self>().write_unaligned(self);
        load_first(from: *const f32, count: usize) -> Self = some(from, count, 0.0);
        store_first(self: Self, to: *mut f32, count: usize) = write(self, to, count);

        add(self: Self, other: Self) -> Self = from_fn(|lane| self[lane] + other[lane]);
        sub(self: Self, other: Self) -> Self = from_fn(|lane| self[lane] - other[lane]);
        mul(self: Self, other: Self) -> Self = from_fn(|lane| self[lane] * other[lane]);
        div(self: Self, other: Self) -> Self = from_fn(|lane| self[lane] / other[lane]);
        sqrt(self: Self) -> Self = self.map(f32::sqrt);
        min(self: Self, other: Self) -> Self = Self::select(self.less(other), self, other);
        max(self: Self, other: Self) -> Self = Self::select(other.less(self), self, other);
        abs(self: Self) -> Self = self.map(f32::abs);
        xor(self: Self, other: Self) -> Self =
            from_fn(|lane| f32::from_bits(self[lane].to_bits() ^ other[lane].to_bits()));
        negative(self: Self) -> Self = self.map(|value| -value.abs());
        mul_add(self: Self, factor: Self, term: Self) -> Self =
            from_fn(|lane| self[lane] * factor[lane] + term[lane]);
        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let product = self.mul(factor);
            // The product has 48 bits, which float64 has room for.
            let rest = |lane: usize| {
                f64::from(self[lane]) * f64::from(factor[lane]) - f64::from(product[lane])
            };
            (product, from_fn(|lane| rest(lane) as f32))
        };
        reciprocal(self: Self) -> Self = self.map(|value| 1.0 / value);

        round(self: Self) -> Self = self.map(|value| value + NO_FRACTION - NO_FRACTION);
        scale(self: Self, exponent: Self) -> Self = {
            // Two factors, as 2^exponent may be no float32.
            let half = exponent.mul([0.5; N]).round();
            self.mul(half.map(power_of_two)).mul(exponent.sub(half).map(power_of_two))
        };

        less(self: Self, other: Self) -> Self::Mask = from_fn(|lane| self[lane] < other[lane]);
        is_nan(self: Self) -> Self::Mask = self.map(f32::is_nan);
        first(count: usize) -> Self::Mask = from_fn(|lane| lane < count);
        all_less(self: Self, bound: f32) -> bool = self.iter().all(|lane| *lane < bound);
        lookup(self: Self, table: &Table) -> Self =
            self.map(|index| table.0[(index.to_bits() % 16) as usize]);
        select(mask: Self::Mask, yes: Self, no: Self) -> Self =
            from_fn(|lane| if mask[lane] { yes[lane] } else { no[lane] });

        sum(self: Self) -> f32 = fold(self, |x, y| x + y);
        greatest(self: Self) -> f32 = fold(self, |x, y| if x > y { x } else { y });

        load_halves(from: *const u16) -> Self::Halves = from.cast::<Self::Halves>().read_unaligned();
        store_halves(halves: Self::Halves, to: *mut u16) =
            to.cast::<Self::Halves>().write_unaligned(halves);
        load_halves_first(from: *const u16, count: usize) -> Self::Halves = some(from, count, 0);
        store_halves_first(halves: Self::Halves, to: *mut u16, count: usize) =
            write(halves, to, count);

        from_bf16(halves: Self::Halves) -> Self =
            halves.map(|bits| f32::from_bits(u32::from(bits) << 16));
        to_bf16(self: Self) -> Self::Halves = self.map(|value| bf16::from_f32(value).to_bits());
        from_f16(halves: Self::Halves) -> Self =
            halves.map(|bits| f16::from_bits(bits).to_f32_const());
        to_f16(self: Self) -> Self::Halves = self.map(|value| f16::from_f32_const(value).to_bits());
    }
}

/// 2 to an integer from −126 to 127.
#[inline(always)]
fn power_of_two(exponent: f32) -> f32 {
    f32::from_bits(((exponent as i32 + 127) as u32) << 23)
}

/// The lanes folded in halves, for as long as their number is even.
#[inline(always)]
fn fold<const N: usize>(mut lanes: [f32; N], fold: impl Fn(f32, f32) -> f32) -> f32 {
    let mut count = N;
    while count.is_multiple_of(2) {
        count /= 2;
        for lane in 0..count {
            lanes[lane] = fold(lanes[lane], lanes[lane + count]);
        }
    }
    lanes[..count].iter().copied().reduce(fold).unwrap_or_default()
}

/// # Safety
/// `count` elements can be read.
#[inline(always)]
unsafe fn some<T: Copy, const N: usize>(from: *const T, count: usize, rest: T) -> [T; N] {
    from_fn(|lane| {
        if lane < count {
            // SAFETY: the caller's promise.
            unsafe { from.wrapping_add(lane).read_unaligned() }
        } else {
            rest
        }
    })
}

/// # Safety
/// `count` elements can be written.
#[inline(always)]
unsafe fn write<T, const N: usize>(elements: [T; N], to: *mut T, count: usize) {
    for (lane, element) in elements.into_iter().enumerate().take(count) {
        // SAFETY: the caller's promise.
        unsafe { to.wrapping_add(lane).write_unaligned(element) };
    }
}
