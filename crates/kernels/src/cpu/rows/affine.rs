//! What is done with normalized values.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "the same promise covers the instructions and the elements of a vector"
)]

use super::held::Held;
use super::pass::Place;
use crate::cpu::vector::{Element, Vector};

/// What is done with a normalized value, by parameters that are float32 or are made so once.
pub trait Affine: Copy + Send + Sync {
    /// The same with parameters of float32.
    type Float32: Affine;

    /// Makes the parameters float32, in `held` where they are not.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements of each parameter as a row of `held` has can
    /// be read; `held` has two rows.
    unsafe fn hold<V: Vector>(self, held: &mut Held) -> Self::Float32;

    /// The results at a place.
    ///
    /// # Safety
    /// The CPU has the instructions; the parameters at the place can be read.
    unsafe fn apply<V: Vector>(self, normalized: V, place: Place) -> V;
}

/// Nothing.
impl Affine for () {
    type Float32 = ();

    #[inline(always)]
    unsafe fn hold<V: Vector>(self, _: &mut Held) {}

    #[inline(always)]
    unsafe fn apply<V: Vector>(self, normalized: V, _: Place) -> V {
        normalized
    }
}

/// It is multiplied by a weight.
#[derive(Debug, Clone, Copy)]
pub struct Weight<T>(pub *const T);

/// It is multiplied by a weight, and a bias is added.
#[derive(Debug, Clone, Copy)]
pub struct WeightAndBias<T>(pub *const T, pub *const T);

// SAFETY: only read, by `apply`, whose callers promise that they can be.
unsafe impl<T> Send for Weight<T> {}
// SAFETY: the same.
unsafe impl<T> Sync for Weight<T> {}
// SAFETY: the same.
unsafe impl<T> Send for WeightAndBias<T> {}
// SAFETY: the same.
unsafe impl<T> Sync for WeightAndBias<T> {}

impl<T: Element> Affine for Weight<T> {
    type Float32 = Weight<f32>;

    #[inline(always)]
    unsafe fn hold<V: Vector>(self, held: &mut Held) -> Weight<f32> {
        // SAFETY: the caller's promise.
        unsafe { Weight(held.hold::<V, T>(self.0, 0)) }
    }

    #[inline(always)]
    unsafe fn apply<V: Vector>(self, normalized: V, place: Place) -> V {
        // SAFETY: the caller's promise.
        unsafe { normalized.mul(place.load(self.0)) }
    }
}

impl<T: Element> Affine for WeightAndBias<T> {
    type Float32 = WeightAndBias<f32>;

    #[inline(always)]
    unsafe fn hold<V: Vector>(self, held: &mut Held) -> WeightAndBias<f32> {
        // SAFETY: the caller's promise.
        unsafe { WeightAndBias(held.hold::<V, T>(self.0, 0), held.hold::<V, T>(self.1, 1)) }
    }

    #[inline(always)]
    unsafe fn apply<V: Vector>(self, normalized: V, place: Place) -> V {
        // SAFETY: the caller's promise.
        unsafe { normalized.mul_add(place.load(self.0), place.load(self.1)) }
    }
}
