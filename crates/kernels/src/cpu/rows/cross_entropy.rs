//! The mean cross entropy of logits and class numbers.

use std::marker::PhantomData;
use std::ops::Range;

use tch::{Device, Kind, TchError, Tensor};

use super::exponentials::{Exponentials, Maximum, greatest, in_step};
use super::layout::RowPointers;
use super::pass::{CHAINS, LaneRange, Source, sums};
use super::{GRAIN, total, write_scalar};
use crate::cpu::Capability;
use crate::cpu::vector::{Element, Kernel, Together, Vector, with_element};

/// Writes the mean over all rows of ln Σ e^x − x\[target\] to `out`: `cross_entropy_loss` with
/// neither weights, smoothing nor an ignored class.
///
/// logits `[.., dim]` and out, without dimensions, float32, bfloat16 or float16; target int64,
/// contiguous, a class below dim for each row. Rows may lie any one stride apart, their elements
/// follow one another. The result is off by at most (16 + ln dim)·2⁻²⁴ and, of itself, 2⁻⁵⁰ before
/// it is rounded to the dtype, and the same on any number of threads. The mean of no rows is NaN, as
/// is the loss of a row with a NaN or an infinity, or of negative infinities alone.
pub fn cross_entropy(
    capability: Capability,
    logits: &Tensor,
    target: &Tensor,
    out: &mut Tensor,
) -> Result<(), TchError> {
    let rows = RowPointers::new("logits", logits)?;
    let targets = classes(target, &rows)?;
    let per_block = (GRAIN / rows.dim.max(1)).max(1);
    let sum = with_element!(logits.f_kind()?, T => {
        // SAFETY: the rows are of this dtype; the targets were looked at.
        unsafe { total(capability, rows.count.div_ceil(per_block), |block| {
            let part = block * per_block..rows.count.min((block + 1) * per_block);
            CrossEntropy::<T> { logits: rows, targets, rows: part, kind: PhantomData }
        }) }
    })?;
    write_scalar(sum / rows.count as f64, logits.f_kind()?, out)
}

/// The class of each row.
fn classes<'t>(target: &'t Tensor, rows: &RowPointers) -> Result<&'t [i64], TchError> {
    let kind = target.f_kind()?;
    let fits = kind == Kind::Int64 && target.device() == Device::Cpu && target.is_contiguous();
    if !fits || target.numel() != rows.count {
        let found = (kind, target.size(), target.stride(), target.device());
        return Err(TchError::Shape(format!(
            "target is {found:?}, where {} contiguous Int64 on the CPU are needed",
            rows.count
        )));
    }
    if rows.count == 0 {
        return Ok(&[]);
    }
    // SAFETY: a contiguous tensor has that many elements there, and lives as long as the borrow.
    let classes =
        unsafe { std::slice::from_raw_parts(target.data_ptr().cast::<i64>(), rows.count) };
    let is_class = |class: i64| usize::try_from(class).is_ok_and(|class| class < rows.dim);
    match classes.iter().position(|class| !is_class(*class)) {
        None => Ok(classes),
        Some(row) => Err(TchError::Shape(format!(
            "the target of row {row} is {}, which is not one of {} classes",
            classes[row], rows.dim
        ))),
    }
}

/// The sum of the losses of some rows.
struct CrossEntropy<'t, T> {
    logits: RowPointers,
    targets: &'t [i64],
    rows: Range<usize>,
    kind: PhantomData<T>,
}

impl<T: Element> Kernel for CrossEntropy<'_, T> {
    type Output = f64;
    const ROUNDS_TO_BF16: bool = false;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> f64 {
        // SAFETY: the caller's promise.
        unsafe {
            match in_step::<V>(self.logits.dim) {
                true => self.all::<Together<V>, 1>(),
                false => self.all::<V, CHAINS>(),
            }
        }
    }
}

impl<T: Element> CrossEntropy<'_, T> {
    /// All rows, in `C` chains.
    ///
    /// # Safety
    /// The contract of [`Kernel::run`].
    #[inline(always)]
    unsafe fn all<V: Vector, const C: usize>(self) -> f64 {
        let dim = self.logits.dim;
        let Range { start, end } = self.rows;
        if start == end {
            return 0.0;
        }
        let logits = |row: usize| self.logits.row::<T>(row.min(end - 1)).cast_const();
        // The product of the sums since the last logarithm, which takes as long as a short row.
        let mut product = 1.0;
        let mut total = 0.0;
        // The greatest values of this row and the next.
        // SAFETY: the caller's promise.
        let mut greatest =
            unsafe { [greatest::<V>(logits(start), dim), greatest::<V>(logits(start + 1), dim)] };
        for row in start..end {
            let place = LaneRange { at: self.targets[row] as usize, only: Some(1) };
            // SAFETY: the caller's promise for each row; a target lies in it.
            unsafe {
                let ahead = Maximum::<V, _>::new(logits(row + 2));
                // As exact as float32 for all dtypes: a small loss is a small difference.
                let terms =
                    Exponentials::<V, _, _, _, f32>::new(logits(row), greatest[0], &ahead, ());
                let [sum] = sums::<V, 1, C, _>(terms, dim);
                let logit: f32 = logits(row).load(place);
                total += f64::from(greatest[0]) - f64::from(logit);
                product *= sum;
                greatest = [greatest[1], ahead.found()];
            }
            if product > 1e200 {
                total += product.ln();
                product = 1.0;
            }
        }
        total + product.ln()
    }
}
