//! Work on other rows beside the passes over one, so that the processor reads, computes and writes at
//! once.

use super::pass::{LaneRange, Map, Source, map};
use crate::cpu::vector::{Element, Vector};

/// Work at each place of a row.
pub trait Interleaved<V: Vector>: Copy {
    /// Does it.
    ///
    /// # Safety
    /// The memory at the place can be read and written.
    unsafe fn step(self, place: LaneRange);
}

/// Nothing.
impl<V: Vector> Interleaved<V> for () {
    #[inline(always)]
    unsafe fn step(self, _: LaneRange) {}
}

/// Two things.
impl<V: Vector, A: Interleaved<V>, B: Interleaved<V>> Interleaved<V> for (A, B) {
    #[inline(always)]
    unsafe fn step(self, place: LaneRange) {
        // SAFETY: the caller's promise.
        unsafe {
            self.0.step(place);
            self.1.step(place);
        }
    }
}

/// A row that is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Fetched<S>(pub S);

impl<V: Vector, S: Source> Interleaved<V> for Fetched<S> {
    #[inline(always)]
    unsafe fn step(self, place: LaneRange) {
        self.0.prefetch(place.at, V::LANES);
    }
}

/// A row that is written.
#[derive(Debug, Clone, Copy)]
pub struct Written<M, T> {
    pub map: M,
    pub out: *mut T,
}

impl<M, T: Element> Written<M, T> {
    /// Writes the whole row.
    ///
    /// # Safety
    /// The contract of [`map`].
    #[inline(always)]
    pub unsafe fn all<V: Vector>(self, elements: usize)
    where
        M: Map<V>,
    {
        // SAFETY: the caller's promise.
        unsafe { map::<V, T>(self.map, self.out, elements) };
    }
}

impl<V: Vector, M: Map<V>, T: Element> Interleaved<V> for Written<M, T> {
    #[inline(always)]
    unsafe fn step(self, place: LaneRange) {
        // SAFETY: the caller's promise.
        unsafe { place.store(self.map.value_at(place), self.out) };
    }
}
