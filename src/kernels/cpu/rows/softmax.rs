//! Softmax over the last dimension.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "the same promise covers the instructions and the elements of a vector"
)]

use std::marker::PhantomData;
use std::ops::Range;

use tch::{TchError, Tensor};

use super::exponentials::{Exponentials, greatest};
use super::layout::Rows;
use super::pass::{Map, Place, map, sums};
use super::{run, with_element};
use crate::kernels::cpu::Capability;
use crate::kernels::cpu::vector::{Element, Kernel, Vector};

/// Writes e^(x − max) / Σ e^(x − max) of each row to `out`.
///
/// x and out `[.., dim]`, float32, bfloat16 or float16. Rows may lie any one stride apart, their
/// elements follow one another. For float32 a result is off by at most (12 + |x − max|)·2⁻²⁴ of
/// itself, and then rounded where it is subnormal; for half dtypes by 2⁻¹² of itself before it is
/// rounded to the dtype. A row with a NaN or an infinity, or of negative infinities alone, becomes
/// NaN; beside others, a negative infinity becomes 0.
///
/// # Errors
/// Sizes, dtypes or strides other than those; an output that shares memory with an input.
pub fn softmax(x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    softmax_with(Capability::best(), x, out)
}

pub(super) fn softmax_with(
    capability: Capability,
    x: &Tensor,
    out: &mut Tensor,
) -> Result<(), TchError> {
    let (from, to) = (Rows::of("x", x)?, Rows::of_output("out", out, x)?);
    to.refuse_overlap(&[from])?;
    with_element!(x.f_kind()?, T => {
        // SAFETY: all rows are as long as those of `to` and of this dtype, which nothing else
        // shares.
        unsafe { run(capability, &to, |rows| Softmax::<T> { from, to, rows, kind: PhantomData }) }
    })
}

/// Some of the rows.
struct Softmax<T> {
    from: Rows,
    to: Rows,
    rows: Range<usize>,
    kind: PhantomData<T>,
}

impl<T: Element> Kernel for Softmax<T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let dim = self.from.dim;
        // Not in `out`, whose dtype may not hold them.
        let mut exponentials = vec![0.0_f32; dim.next_multiple_of(V::LANES)];
        let held = exponentials.as_mut_ptr();
        for row in self.rows {
            let (from, to) = (self.from.row::<T>(row).cast_const(), self.to.row::<T>(row));
            // SAFETY: the caller's promise for each row; whole vectors fit into `held`.
            unsafe {
                let greatest = greatest::<V>(from, dim);
                let terms = Exponentials::<V, _, _, T>::new(from, greatest, held);
                let [sum] = sums::<V, 1, _>(terms, dim);
                let factor = V::splat((1.0 / sum) as f32);
                map::<V, T>(Scaled { values: held.cast_const(), factor }, to, dim);
            }
        }
    }
}

/// Values multiplied by a factor.
#[derive(Debug, Clone, Copy)]
struct Scaled<V> {
    values: *const f32,
    factor: V,
}

impl<V: Vector> Map<V> for Scaled<V> {
    #[inline(always)]
    unsafe fn at(self, place: Place) -> V {
        // SAFETY: the caller's promise.
        unsafe { place.load::<V, f32>(self.values).mul(self.factor) }
    }
}
