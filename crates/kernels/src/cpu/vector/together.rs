//! Several registers as one.

use super::{Capability, Table, Vector, methods};

/// `N` registers on which every operation is done in turn: what would be a chain of instructions,
/// each waiting for the one before, becomes `N` of them side by side. A processor that finds them
/// itself, as they do not depend on one another, looks ahead by some hundred instructions only.
#[derive(Debug, Clone, Copy)]
pub struct Together<V, const N: usize>([V; N]);

/// An array of `N` values, one for each index. Not by closures, which the compiler may refuse to
/// inline where they use instructions that not every CPU has.
macro_rules! each {
    ($index:ident => $value:expr) => {{
        let mut values = [{
            let $index = 0;
            $value
        }; N];
        for $index in 1..N {
            values[$index] = $value;
        }
        values
    }};
}

/// Methods that do the same in every register.
macro_rules! lanewise {
    ($($name:ident($($argument:ident),*);)*) => {$(
        #[inline(always)]
        unsafe fn $name(self, $($argument: Self),*) -> Self {
            // SAFETY: the caller has the instructions.
            unsafe { Self(each!(index => self.0[index].$name($($argument.0[index]),*))) }
        }
    )*};
}

impl<V: Vector, const N: usize> Vector for Together<V, N> {
    const CAPABILITY: Capability = V::CAPABILITY;
    const LANES: usize = N * V::LANES;
    type Mask = [V::Mask; N];
    type Halves = [V::Halves; N];

    lanewise! {
        add(other);
        sub(other);
        mul(other);
        div(other);
        min(other);
        max(other);
        xor(other);
        scale(exponent);
        mul_add(factor, term);
        sqrt();
        abs();
        negative();
        reciprocal();
        round();
    }

    methods! {
        splat(value: f32) -> Self = Self([V::splat(value); N]);
        load(from: *const f32) -> Self =
            Self(each!(index => V::load(from.wrapping_add(index * V::LANES))));
        store(self: Self, to: *mut f32) =
            for (index, part) in self.0.iter().enumerate() {
                part.store(to.wrapping_add(index * V::LANES));
            };
        load_first(from: *const f32, count: usize) -> Self = Self(each!(index => V::load_first(from.wrapping_add(index * V::LANES), of_part::<V>(count, index))));
        store_first(self: Self, to: *mut f32, count: usize) =
            for (index, part) in self.0.iter().enumerate() {
                part.store_first(to.wrapping_add(index * V::LANES), of_part::<V>(count, index));
            };

        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let products: [(V, V); N] = each!(index => self.0[index].mul_exact(factor.0[index]));
            (Self(each!(index => products[index].0)), Self(each!(index => products[index].1)))
        };
        split(self: Self) -> (Self, Self) = {
            let parts: [(V, V); N] = each!(index => self.0[index].split());
            (Self(each!(index => parts[index].0)), Self(each!(index => parts[index].1)))
        };

        less(self: Self, other: Self) -> Self::Mask =
            each!(index => self.0[index].less(other.0[index]));
        is_nan(self: Self) -> Self::Mask = each!(index => self.0[index].is_nan());
        first(count: usize) -> Self::Mask = each!(index => V::first(of_part::<V>(count, index)));
        all_less(self: Self, bound: f32) -> bool = {
            let mut greatest = self.0[0];
            for part in &self.0[1..] {
                greatest = greatest.max(*part);
            }
            greatest.all_less(bound)
        };
        lookup(self: Self, table: &Table) -> Self = Self(each!(index => self.0[index].lookup(table)));
        select(mask: Self::Mask, yes: Self, no: Self) -> Self =
            Self(each!(index => V::select(mask[index], yes.0[index], no.0[index])));

        sum(self: Self) -> f32 = {
            let mut sum = self.0[0];
            for part in &self.0[1..] {
                sum = sum.add(*part);
            }
            sum.sum()
        };
        greatest(self: Self) -> f32 = {
            let mut greatest = self.0[0];
            for part in &self.0[1..] {
                greatest = greatest.max(*part);
            }
            greatest.greatest()
        };

        load_halves(from: *const u16) -> Self::Halves =
            each!(index => V::load_halves(from.wrapping_add(index * V::LANES)));
        store_halves(halves: Self::Halves, to: *mut u16) =
            for (index, part) in halves.iter().enumerate() {
                V::store_halves(*part, to.wrapping_add(index * V::LANES));
            };
        load_halves_first(from: *const u16, count: usize) -> Self::Halves = each!(index => V::load_halves_first(from.wrapping_add(index * V::LANES), of_part::<V>(count, index)));
        store_halves_first(halves: Self::Halves, to: *mut u16, count: usize) =
            for (index, part) in halves.iter().enumerate() {
                let to = to.wrapping_add(index * V::LANES);
                V::store_halves_first(*part, to, of_part::<V>(count, index));
            };

        in_step(self: Self) -> Self = {
            let mut parts = self.0;
            for four in parts.as_chunks_mut().0 {
                *four = V::four_in_step(*four);
            }
            Self(parts)
        };

        from_bf16(halves: Self::Halves) -> Self =
            Self(each!(index => V::from_bf16(halves[index])));
        to_bf16(self: Self) -> Self::Halves = each!(index => self.0[index].to_bf16());
        load_bf16_shuffled(from: *const u16) -> Self = {
            const { assert!(N.is_multiple_of(2), "registers are loaded in pairs") };
            let mut parts = [V::splat(0.0); N];
            for (index, pair) in parts.as_chunks_mut().0.iter_mut().enumerate() {
                *pair = V::load_bf16_pair(from.wrapping_add(2 * index * V::LANES));
            }
            Self(parts)
        };
        store_bf16_shuffled(self: Self, to: *mut u16) =
            for (index, pair) in self.0.as_chunks().0.iter().enumerate() {
                V::store_bf16_pair(*pair, to.wrapping_add(2 * index * V::LANES));
            };
        from_f16(halves: Self::Halves) -> Self = Self(each!(index => V::from_f16(halves[index])));
        to_f16(self: Self) -> Self::Halves = each!(index => self.0[index].to_f16());
    }
}

/// How many of the first `count` lanes are in the register of that index.
#[inline(always)]
fn of_part<V: Vector>(count: usize, index: usize) -> usize {
    count.saturating_sub(index * V::LANES).min(V::LANES)
}
