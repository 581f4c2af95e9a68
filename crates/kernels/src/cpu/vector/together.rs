//! Several registers as one.

use super::{Capability, Table, Vector, methods};

/// Four registers on which every operation is done in turn: what would be a chain of instructions,
/// each waiting for the one before, becomes four of them side by side. A processor that finds them
/// itself, as they do not depend on one another, looks ahead by some hundred instructions only.
#[derive(Debug, Clone, Copy)]
pub struct Together<V>([V; REGISTERS]);

/// Registers of a [`Together`].
pub const REGISTERS: usize = 4;

/// An array of a value for each register. Without closures, which the compiler may refuse to inline where they use
/// instructions that not every CPU has, and without loops, which took LLVM a third of this crate's compile time.
macro_rules! each {
    ($index:ident => $value:expr) => {
        [
            {
                let $index = 0;
                $value
            },
            {
                let $index = 1;
                $value
            },
            {
                let $index = 2;
                $value
            },
            {
                let $index = 3;
                $value
            },
        ]
    };
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

impl<V: Vector> Vector for Together<V> {
    const CAPABILITY: Capability = V::CAPABILITY;
    const LANES: usize = REGISTERS * V::LANES;
    const ENTRIES: usize = V::ENTRIES;
    type Mask = [V::Mask; REGISTERS];
    type Halves = [V::Halves; REGISTERS];

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
        splat(value: f32) -> Self = Self([V::splat(value); REGISTERS]);
        load(from: *const f32) -> Self =
            Self(each!(index => V::load(from.wrapping_add(index * V::LANES))));
        store(self: Self, to: *mut f32) = {
            each!(index => self.0[index].store(to.wrapping_add(index * V::LANES)));
        };
        load_first(from: *const f32, count: usize) -> Self = Self(each!(index => V::load_first(from.wrapping_add(index * V::LANES), of_part::<V>(count, index))));
        store_first(self: Self, to: *mut f32, count: usize) = {
            each!(index => self.0[index].store_first(to.wrapping_add(index * V::LANES), of_part::<V>(count, index)));
        };

        mul_exact(self: Self, factor: Self) -> (Self, Self) = {
            let products: [(V, V); REGISTERS] = each!(index => self.0[index].mul_exact(factor.0[index]));
            (Self(each!(index => products[index].0)), Self(each!(index => products[index].1)))
        };
        split(self: Self) -> (Self, Self) = {
            let parts: [(V, V); REGISTERS] = each!(index => self.0[index].split());
            (Self(each!(index => parts[index].0)), Self(each!(index => parts[index].1)))
        };

        less(self: Self, other: Self) -> Self::Mask =
            each!(index => self.0[index].less(other.0[index]));
        is_nan(self: Self) -> Self::Mask = each!(index => self.0[index].is_nan());
        first(count: usize) -> Self::Mask = each!(index => V::first(of_part::<V>(count, index)));
        all_less(self: Self, bound: f32) -> bool = {
            // A NaN must not hide what was greater before it, so it is always the first of the two.
            let [first, second, third, fourth] = self.0;
            let greatest = first.max(V::splat(f32::NEG_INFINITY));
            fourth.max(third.max(second.max(greatest))).all_less(bound)
        };
        lookup(self: Self, table: &Table) -> Self = Self(each!(index => self.0[index].lookup(table)));
        select(mask: Self::Mask, yes: Self, no: Self) -> Self =
            Self(each!(index => V::select(mask[index], yes.0[index], no.0[index])));

        sum(self: Self) -> f32 = {
            let [first, second, third, fourth] = self.0;
            first.add(second).add(third).add(fourth).sum()
        };
        greatest(self: Self) -> f32 = {
            let [first, second, third, fourth] = self.0;
            first.max(second).max(third).max(fourth).greatest()
        };

        load_halves(from: *const u16) -> Self::Halves =
            each!(index => V::load_halves(from.wrapping_add(index * V::LANES)));
        store_halves(halves: Self::Halves, to: *mut u16) = {
            each!(index => V::store_halves(halves[index], to.wrapping_add(index * V::LANES)));
        };
        load_halves_first(from: *const u16, count: usize) -> Self::Halves = each!(index => V::load_halves_first(from.wrapping_add(index * V::LANES), of_part::<V>(count, index)));
        store_halves_first(halves: Self::Halves, to: *mut u16, count: usize) = {
            each!(index => V::store_halves_first(halves[index], to.wrapping_add(index * V::LANES), of_part::<V>(count, index)));
        };

        in_step(self: Self) -> Self = Self(V::four_in_step(self.0));

        from_bf16(halves: Self::Halves) -> Self =
            Self(each!(index => V::from_bf16(halves[index])));
        to_bf16(self: Self) -> Self::Halves = each!(index => self.0[index].to_bf16());
        load_bf16_shuffled(from: *const u16) -> Self = {
            let [first, second] = V::load_bf16_pair(from);
            let [third, fourth] = V::load_bf16_pair(from.wrapping_add(2 * V::LANES));
            Self([first, second, third, fourth])
        };
        store_bf16_shuffled(self: Self, to: *mut u16) = {
            let [first, second, third, fourth] = self.0;
            V::store_bf16_pair([first, second], to);
            V::store_bf16_pair([third, fourth], to.wrapping_add(2 * V::LANES));
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
