//! Triton kernels, compiled on the machine that runs them.
//!
//! Their source is Python, in this folder and in the program. When a case that needs one is built,
//! a child process compiles it for the GPU at hand, which takes a second, and the result is kept on
//! disk; from then on Python is not needed. The driver launches it on torch's current stream and
//! torch's memory. Building and testing need neither Python nor CUDA: where one is missing,
//! `Refusal::Skipped` says how to get it.
//!
//! | step | file |
//! |---|---|
//! | find a Python with Triton, run it | `python.rs` |
//! | a kernel, its constants and the GPU → metadata and cubin | `compile.rs`, `compile.py` |
//! | cubins on disk, cubin → functions | `../cache.rs`, `../cuda/module.rs` |
//! | launch | `kernel.rs` |
//! | tensors as rows; what is demanded of them; what a program works on | `../rows.rs`, `operands.rs`, `tile.rs` |
//! | the operators | `activation`, `norm`, `softmax`, `loss`: `.py` and `.rs` |
//!
//! **Launches.** After the parameters in its source, a kernel takes two more, addresses of scratch
//! memory: one for itself, one for Triton's profiler. The kernels here use neither, and both are
//! null. `Metadata::check` refuses a kernel that says otherwise, or whose entry function does not
//! have just these parameters, so that another Triton is refused rather than misunderstood.
//!
//! **Alignment.** A kernel moves 16 bytes at once where 16 divides all of its addresses, sizes and
//! strides. That is promised in one compiled form and not in the other, and each launch takes the
//! form whose promise it keeps.
//!
//! **Not yet run on a GPU.** The kernels are compiled for compute capabilities 8.0, 9.0 and 10.0 and
//! executed by Triton's interpreter in tests; the test that runs them on a device is skipped where
//! there is none.

pub mod activation;
mod compile;
mod kernel;
pub mod loss;
pub mod norm;
mod operands;
mod python;
pub mod softmax;
mod tile;

use compile::Constant;
use tch::{TchError, Tensor};
use tile::Tile;

use crate::cache;
use crate::rows::Rows;
use native::refusal::Refusal;

/// Whether there is what compiles kernels, or compiled ones: asked before anything is made for them.
///
/// # Errors
/// Skipped, with the remedy, where no Python has Triton and nothing is kept.
pub fn available() -> Result<(), Refusal> {
    match python::python() {
        Err(_) if cache::holds(compile::EXTENSION) => Ok(()),
        found => found.map(drop),
    }
}

/// Demands what a row's length may be: a kernel numbers columns in 32 bits, also those of the block
/// that goes beyond the row's end.
fn check_columns(columns: i64) -> Result<(), Refusal> {
    const MOST: i64 = 1 << 30;
    if (1..=MOST).contains(&columns) {
        return Ok(());
    }
    Err(Refusal::Unsupported(format!(
        "rows of {columns} elements, but the kernel takes 1 to {MOST}"
    )))
}

/// The same elements as one row where they follow each other.
fn flat(rows: Rows) -> Rows {
    if rows.count > 0 && rows.is_dense() { rows.joined() } else { rows }
}

/// `x` as rows of so many columns.
fn rows_of(x: &Tensor, columns: i64) -> Result<Rows, TchError> {
    let rows = Rows::of("an operand", x)?;
    if rows.dim == columns {
        return Ok(rows);
    }
    Err(TchError::Shape(format!("{x:?}, but the kernel was compiled for rows of {columns}")))
}

/// Blocks of a size; kernels count them in 32 bits, and a step beyond the last.
fn blocks(of: i64, size: i64) -> Result<i32, TchError> {
    const MOST: i64 = 1 << 30;
    let blocks = of / size + i64::from(of % size != 0);
    match i32::try_from(blocks) {
        Ok(count) if blocks <= MOST => Ok(count),
        _ => {
            Err(TchError::Shape(format!("{of} in blocks of {size}, but at most {MOST} are taken")))
        }
    }
}

/// COLUMNS, ROWS and BLOCK.
fn constants(columns: i64, tile: Tile) -> Vec<(&'static str, Constant)> {
    [("COLUMNS", Constant::Integer(columns))].into_iter().chain(tile.constants()).collect()
}

#[cfg(test)]
mod interpreted_tests;
#[cfg(test)]
mod interpreter;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
