//! Operators that take each element for itself: one pass over memory, at the speed of a copy where
//! the memory is slower than the arithmetic.
//!
//! Operands are tensors on the CPU of one dtype, float32, bfloat16 or float16; `out` has the size
//! of `x`. Each of both is contiguous or consists of rows, the last dimension, whose elements are
//! consecutive and which follow one another at one distance, as in a part of the columns of a
//! matrix. `out` may be `x` itself, and has no other memory in common with an operand.
//!
//! Errors of the functions are those of [`math`](super::math). Fewer than [`GRAIN`](parallel::GRAIN) elements are
//! the calling thread's own, as with torch's operators.

mod function;
mod pass;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use tch::{TchError, Tensor};

use super::memory::expect;
use super::vector::{Element, with_element};
use super::{Capability, parallel};
use crate::overlap::refuse_overlap;
use crate::rows::Rows;
pub use function::{BiasGelu, Function, Gelu, GeluTanh, Silu};
use pass::{Addresses, Pass};

/// Elements below which a row with a bias is short: several of them are taken as one, the bias
/// repeated.
const SHORT: usize = 1024;

/// Threads' parts begin with a cache line, of two where lines are fetched in pairs, if the output
/// does.
const LINE: usize = 64;

/// Writes a function of x, or of the sum of x and a bias, to `out`, with the instructions of a
/// capability that the CPU has. The bias is contiguous, of as many elements as the last dimension of
/// `x` has; the sum is one of float32.
pub fn run<F: Function>(
    capability: Capability,
    x: &Tensor,
    bias: Option<&Tensor>,
    out: &mut Tensor,
) -> Result<(), TchError> {
    with_element!(x.f_kind()?, E => run_on::<F, E>(capability, x, bias, out))
}

/// Runs the function on elements `E`, the dtype of `x`.
fn run_on<F: Function, E: Element>(
    capability: Capability,
    x: &Tensor,
    bias: Option<&Tensor>,
    out: &mut Tensor,
) -> Result<(), TchError> {
    let (mut x_rows, mut out_rows) = rows(x, out)?;
    let elements = out_rows.values() as usize;
    if let Some(bias) = bias {
        expect("bias", bias, x.f_kind()?, &[x_rows.dim])?;
        Rows::new("bias", bias)?;
        refuse_overlap(out, [bias])?;
    }
    if elements == 0 {
        return Ok(());
    }
    let is_dense = x_rows.is_dense() && out_rows.is_dense();
    let repeated = bias.filter(|_| is_dense).and_then(repeated::<E>);
    (x_rows, out_rows) = match (&repeated, bias) {
        (Some(row), _) => [Rows::single(row.len() as i64); 2].into(),
        (None, None) if is_dense => (x_rows.joined(), out_rows.joined()),
        _ => (x_rows, out_rows),
    };
    let own = bias.map_or(std::ptr::null(), |it| it.data_ptr().cast_const().cast::<E>());
    let addresses = Addresses::<E> {
        x: x.data_ptr().cast(),
        x_stride: x_rows.stride as usize,
        bias: repeated.as_ref().map_or(own, |row| row.as_ptr()),
        out: out.data_ptr().cast(),
        out_stride: out_rows.stride as usize,
        width: out_rows.dim as usize,
    };
    let step = parallel::share(elements, parallel::threads()).next_multiple_of(LINE);
    parallel::for_each_part(elements, step, |part| {
        let pass = Pass { addresses: &addresses, elements: part, function: PhantomData::<F> };
        // SAFETY: the CPU has the capability; the operands have these sizes and this dtype and
        // share no memory but all of it, as has been checked; the parts share no element.
        unsafe { capability.run(pass) };
    })
}

/// A short bias, which is one row of consecutive elements, repeated until it is a long one. As many
/// rows without gaps then count as one; the last may end before, as parts are counted by elements.
fn repeated<E: Element>(bias: &Tensor) -> Option<Vec<E>> {
    let width = bias.numel();
    if width == 0 || width >= SHORT {
        return None;
    }
    // SAFETY: so many consecutive elements, of the dtype that `E` is, as has been checked.
    let row =
        unsafe { std::slice::from_raw_parts(bias.data_ptr().cast_const().cast::<E>(), width) };
    Some(row.repeat(SHORT.div_ceil(width)))
}

/// The rows of `x` and `out`, which have to be fit for one pass.
fn rows(x: &Tensor, out: &Tensor) -> Result<(Rows, Rows), TchError> {
    expect("x", x, x.f_kind()?, &x.size())?;
    expect("out", out, x.f_kind()?, &x.size())?;
    let (x_rows, out_rows) = (Rows::new("x", x)?, Rows::of_output("out", out)?);
    let in_place = x.data_ptr() == out.data_ptr() && x_rows == out_rows;
    if !in_place {
        refuse_overlap(out, [x])?;
    }
    Ok((x_rows, out_rows))
}
