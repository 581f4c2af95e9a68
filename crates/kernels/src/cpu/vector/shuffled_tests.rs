//! Tables, and elements in an order of their own.

use half::{bf16, f16};

use super::*;

#[test]
fn a_table_is_indexed_by_the_last_bits() {
    struct Lookup;
    impl Kernel for Lookup {
        type Output = ();

        #[inline(always)]
        unsafe fn run<V: Vector>(self) {
            let table = Table(std::array::from_fn(|index| 0.5 + index as f32));
            for first in 0..64 {
                let all: [f32; 64] =
                    std::array::from_fn(|lane| f32::from_bits(0x4b40_0000 | (first + lane as u32)));
                let mut found = [0.0; 64];
                // SAFETY: the caller has the instructions; 64 values.
                unsafe {
                    V::load(all.as_ptr()).lookup(&table).store(found.as_mut_ptr());
                }
                for (lane, found) in found[..V::LANES].iter().enumerate() {
                    assert_eq!(*found, table.0[(first as usize + lane) % V::ENTRIES], "{lane}");
                }
            }
        }
    }
    for capability in Capability::available() {
        // SAFETY: available.
        unsafe { capability.run(Lookup) };
    }
}

/// Whether all values are less than 2, with `value` in every place in turn, and a NaN in the same lane so many registers
/// further, the first one after the last.
struct AllLess {
    value: f32,
    nan: Option<usize>,
}

impl Kernel for AllLess {
    type Output = Vec<bool>;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Vec<bool> {
        let place = |lane: usize| {
            let mut all = [1.0; 64];
            if let Some(registers) = self.nan {
                all[(lane + registers * V::LANES) % (4 * V::LANES)] = f32::NAN;
            }
            all[lane] = self.value;
            // SAFETY: the caller has the instructions; 64 values.
            unsafe { Together::<V>::load(all.as_ptr()).all_less(2.0) }
        };
        let mut found = Vec::new();
        for lane in 0..4 * V::LANES {
            found.push(place(lane));
        }
        found
    }
}

#[test]
fn one_lane_that_is_not_less_is_found() {
    for capability in Capability::available() {
        for (value, expected) in [(-9.0, true), (1.9, true), (2.0, false), (f32::INFINITY, false)] {
            // SAFETY: available.
            let found = unsafe { capability.run(AllLess { value, nan: None }) };
            assert!(found.iter().all(|found| *found == expected), "{capability:?} {value}");
        }
    }
}

#[test]
fn a_nan_hides_no_lane_that_is_not_less() {
    for capability in Capability::available() {
        for registers in 1..4 {
            // SAFETY: available.
            let found = unsafe { capability.run(AllLess { value: 2.0, nan: Some(registers) }) };
            assert!(found.iter().all(|found| !found), "{capability:?}, {registers} further");
        }
    }
}

/// Elements times a factor, through registers in the elements' own order.
struct Shuffled<'a, E> {
    elements: &'a [E],
    factor: f32,
}

impl<E: Element> Kernel for Shuffled<'_, E> {
    type Output = Vec<E>;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Vec<E> {
        let mut results = self.elements.to_vec();
        let block = 4 * V::LANES;
        assert!(results.len().is_multiple_of(block));
        for at in (0..results.len()).step_by(block) {
            // SAFETY: the caller has the instructions; a block of elements.
            unsafe {
                let x = E::load_shuffled::<Together<V>>(self.elements[at..].as_ptr());
                let product = x.mul(Together::splat(self.factor));
                E::store_shuffled(product, results[at..].as_mut_ptr());
            }
        }
        results
    }
}

#[test]
fn every_element_returns_to_its_place() {
    let all: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    let others: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    for capability in Capability::available() {
        // SAFETY: available.
        let same = unsafe { capability.run(Shuffled { elements: &all, factor: 1.0 }) };
        for (x, found) in all.iter().zip(&same) {
            assert!(x.to_bits() == found.to_bits() || x.is_nan() && found.is_nan(), "{x:?}");
        }
        // SAFETY: available.
        let same = unsafe { capability.run(Shuffled { elements: &others, factor: 1.0 }) };
        for (x, found) in others.iter().zip(&same) {
            assert!(x.to_bits() == found.to_bits() || x.is_nan() && found.is_nan(), "{x:?}");
        }
    }
}

#[test]
fn a_bfloat16_is_the_nearest_or_one_of_two() {
    let all: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    for capability in Capability::available() {
        for factor in [0.5, 0.3, 1.7, -1.001, 1e-37] {
            // SAFETY: available.
            let found = unsafe { capability.run(Shuffled { elements: &all, factor }) };
            for (x, found) in all.iter().zip(found) {
                let exact = x.to_f32() * factor;
                let nearest = bf16::from_f32(exact);
                let error = |it: bf16| (f64::from(it.to_f32()) - f64::from(exact)).abs();
                let is_nearest = found == nearest || error(found) == error(nearest);
                let both_nan = found.is_nan() && nearest.is_nan();
                assert!(is_nearest || both_nan, "{capability:?} {x:?}·{factor}: {found:?}");
            }
        }
    }
}
