//! What is done with other rows beside the passes over one, so that the processor reads, computes and
//! writes at once.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "the same promise covers the instructions and the elements of a vector"
)]

use std::cell::Cell;

use super::pass::{Map, Place, Source, map};
use crate::kernels::cpu::vector::{Element, Vector};

/// What is done at each place of a row.
pub trait Beside<V: Vector>: Copy {
    /// Does it.
    ///
    /// # Safety
    /// The CPU has the instructions; what lies at the place can be read and written.
    unsafe fn at(self, place: Place);
}

/// Nothing.
impl<V: Vector> Beside<V> for () {
    #[inline(always)]
    unsafe fn at(self, _: Place) {}
}

/// Two things.
impl<V: Vector, A: Beside<V>, B: Beside<V>> Beside<V> for (A, B) {
    #[inline(always)]
    unsafe fn at(self, place: Place) {
        // SAFETY: the caller's promise.
        unsafe {
            self.0.at(place);
            self.1.at(place);
        }
    }
}

/// A row that is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Fetched<S>(pub S);

impl<V: Vector, S: Source> Beside<V> for Fetched<S> {
    #[inline(always)]
    unsafe fn at(self, place: Place) {
        self.0.prefetch(place.at);
    }
}

/// A row that is written.
pub struct Written<V, M, T> {
    map: M,
    out: *mut T,
    /// The magnitudes that are least, below zero.
    least: Cell<V>,
}

impl<V: Vector, M: Map<V>, T: Element> Written<V, M, T> {
    /// Of what the elements of a row become.
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    pub unsafe fn new(map: M, out: *mut T) -> Self {
        // SAFETY: the caller's promise.
        Self { map, out, least: Cell::new(unsafe { V::splat(-1.0) }) }
    }

    /// Writes the whole row.
    ///
    /// # Safety
    /// That of [`map`].
    #[inline(always)]
    pub unsafe fn all(self, elements: usize) {
        // SAFETY: the caller's promise.
        unsafe { map::<V, T>(self.map, self.out, elements) };
    }

    /// Writes the row once more if there may be subnormal results, for which every place is a test
    /// otherwise.
    ///
    /// # Safety
    /// That of [`map`].
    #[inline(always)]
    pub unsafe fn finish(self, elements: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if T::normal::<V>() && self.least.get().greatest() > -f32::MIN_POSITIVE {
                self.all(elements);
            }
        }
    }
}

impl<V: Vector, M: Map<V>, T: Element> Beside<V> for &Written<V, M, T> {
    #[inline(always)]
    unsafe fn at(self, place: Place) {
        // SAFETY: the caller's promise.
        unsafe {
            let values = self.map.at(place);
            if T::normal::<V>() && place.only.is_none() {
                T::store_normal(values, self.out.wrapping_add(place.at));
                self.least.set(values.negative().max(self.least.get()));
            } else {
                place.store(values, self.out);
            }
        }
    }
}
