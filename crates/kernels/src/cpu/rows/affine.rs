//! The parameters of normalized values.

use super::pass::LaneRange;
use super::row_buffer::RowBuffer;
use crate::cpu::vector::{Element, Vector};

/// The parameters that normalized values are multiplied by, and that are added: none, a weight, or a
/// weight and a bias.
#[derive(Debug, Clone, Copy)]
pub struct Affine<T, const N: usize>(pub [*const T; N]);

// SAFETY: only read, by `apply`, whose callers promise that they can be.
unsafe impl<T, const N: usize> Send for Affine<T, N> {}
// SAFETY: the same.
unsafe impl<T, const N: usize> Sync for Affine<T, N> {}

impl<T: Element, const N: usize> Affine<T, N> {
    /// Makes the parameters float32, in `held` where they are not.
    ///
    /// # Safety
    /// Each parameter holds as many readable elements as a row of `held`; `held` has `N` rows.
    #[inline(always)]
    pub unsafe fn hold<V: Vector>(self, held: &mut RowBuffer) -> Affine<f32, N> {
        let mut float32 = [std::ptr::null(); N];
        for (index, parameter) in self.0.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            float32[index] = unsafe { held.hold::<V, T>(parameter, index) };
        }
        Affine(float32)
    }

    /// The results at a place.
    ///
    /// # Safety
    /// The parameters at the place can be read.
    #[inline(always)]
    pub unsafe fn apply<V: Vector>(self, normalized: V, place: LaneRange) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            match *self.0.as_slice() {
                [weight] => normalized.mul(place.load(weight)),
                [weight, bias] => normalized.mul_add(place.load(weight), place.load(bias)),
                _ => normalized,
            }
        }
    }
}
