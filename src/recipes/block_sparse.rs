//! Block sparsity: of every row of 64×64 blocks the half with the smallest Frobenius norms is zero,
//! of an odd number of blocks the smaller half.
//!
//! The blocks that are left are stored side by side, and a row of blocks is multiplied by the inputs
//! that they belong to; the others are neither stored nor touched. (libtorch's own product of BSR
//! tensors, MKL's on a CPU, takes float32 alone, and takes longer than the dense product at a
//! density of one half.)

use tch::{Kind, TchError, Tensor};

use super::{LayerContext, LinearLayer, filled};
use crate::refusal::Refusal;

/// Rows and columns of a block.
const BLOCK: i64 = 64;

/// Whether the weight consists of blocks of which half can go.
pub(super) fn check(context: &LayerContext) -> Result<(), String> {
    check_sizes(context.linear.n, context.linear.k)
}

fn check_sizes(n: u64, k: u64) -> Result<(), String> {
    let block = BLOCK.unsigned_abs();
    for (dimension, size) in [("k", k), ("n", n)] {
        if size % block != 0 {
            return Err(format!(
                "{dimension} = {size}, but block sparsity needs a multiple of {block}"
            ));
        }
    }
    if k < 2 * block {
        return Err(format!("k = {k}, but block sparsity needs two blocks of {block} to drop one"));
    }
    Ok(())
}

/// `weight [n, k]`, the blocks of smaller norm zero, of equal norms the later.
pub(super) fn prune(weight: &Tensor) -> Result<Tensor, Refusal> {
    let (n, k) = weight.size2()?;
    check_sizes(n.unsigned_abs(), k.unsigned_abs()).map_err(Refusal::Unsupported)?;
    let blocks = blocks(weight)?;
    let dropped = by_norm(&blocks)?.f_narrow(-1, kept(k), k / BLOCK - kept(k))?;
    let mask = Tensor::f_zeros([n / BLOCK, k / BLOCK], (Kind::Bool, weight.device()))?;
    let mask = mask.f_scatter_value(-1, &dropped, 1)?.f_unsqueeze(1)?.f_unsqueeze(-1)?;
    Ok(blocks.f_masked_fill(&mask, 0)?.f_view([n, k])?)
}

/// How many blocks are left of the `k / 64` of a row.
fn kept(k: i64) -> i64 {
    (k / BLOCK).unsigned_abs().div_ceil(2).cast_signed()
}

/// `weight [n, k]` as `[n / 64, 64, k / 64, 64]`.
fn blocks(weight: &Tensor) -> Result<Tensor, TchError> {
    let (n, k) = weight.size2()?;
    weight.f_reshape([n / BLOCK, BLOCK, k / BLOCK, BLOCK])
}

/// For each row of blocks its block columns, largest norm first, of equals the earlier.
fn by_norm(blocks: &Tensor) -> Result<Tensor, TchError> {
    let squares = blocks.f_to_kind(Kind::Float)?.f_square()?;
    let norms = squares.f_sum_dim_intlist([1, 3].as_slice(), false, Kind::Double)?;
    norms.f_argsort_stable(true, -1, true)
}

pub(super) fn layer(weight: &Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
    Ok(Box::new(BlockSparse::compress(weight)?))
}

/// `y = x · Wᵀ`, one product for each row of blocks.
#[derive(Debug)]
struct BlockSparse {
    /// `[n / 64, 64, kept · 64]`: the blocks of each block row that are left, side by side.
    values: Tensor,
    /// `[n / 64, kept]`, int32: the block columns that they belong to, ascending.
    columns: Tensor,
    k: i64,
}

impl BlockSparse {
    /// `weight [n, k]`, of which [`prune`] has left half of the blocks of each block row.
    fn compress(weight: &Tensor) -> Result<Self, Refusal> {
        let (n, k) = weight.size2()?;
        let (blocks, kept) = (blocks(weight)?, kept(k));
        let (columns, _) = by_norm(&blocks)?.f_narrow(-1, 0, kept)?.f_sort(-1, false)?;
        let index = columns.f_unsqueeze(1)?.f_unsqueeze(-1)?;
        let index = index.f_expand([n / BLOCK, BLOCK, kept, BLOCK], false)?;
        let values = blocks.f_gather(2, &index, false)?.f_view([n / BLOCK, BLOCK, kept * BLOCK])?;
        let nonzero = |tensor: &Tensor| tensor.f_count_nonzero(None::<i64>)?.f_int64_value(&[]);
        let beyond = nonzero(weight)? - nonzero(&values)?;
        if beyond > 0 {
            let reason = format!("{beyond} weights beyond half of the blocks are not zero");
            return Err(Refusal::Failed(reason));
        }
        Ok(Self { values, columns: columns.f_to_kind(Kind::Int)?, k })
    }

    /// Writes the product with `x` into `out [rows, n]`.
    fn multiply(&self, x: &Tensor, out: &Tensor) -> Result<(), TchError> {
        let (block_rows, _, kept) = self.values.size3()?;
        let inputs = x.f_reshape([-1, self.k / BLOCK, BLOCK])?;
        for row in 0..block_rows {
            let gathered = inputs.f_index_select(1, &self.columns.f_select(0, row)?)?;
            let outputs = out.f_narrow(-1, row * BLOCK, BLOCK)?;
            let weight = self.values.f_select(0, row)?.f_tr()?;
            drop(gathered.f_view([-1, kept])?.f_mm_out(&outputs, &weight)?);
        }
        Ok(())
    }
}

impl LinearLayer for BlockSparse {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        filled(x, self.values.size3()?.0 * BLOCK, out, |rows| self.multiply(x, rows))
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.values, &self.columns]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::index_select", "aten::mm"]
    }

    fn is_quantized(&self) -> bool {
        false
    }

    fn density(&self) -> Option<f64> {
        Some(kept(self.k) as f64 / (self.k / BLOCK) as f64)
    }
}

#[cfg(test)]
#[path = "block_sparse_tests.rs"]
mod tests;
