//! The matrix product state that the contractions share.

use criterion_torch::kernel::prelude::*;
use tch::Kind;

/// A vector of `d^sites` numbers, as the product of one tensor `[left, d, right]` for each site. The
/// outermost bonds have dimension 1. The tensors are normally distributed, such that the squared norm is about 1.
pub fn draw(
    sites: usize,
    bond: usize,
    physical: usize,
    context: &KernelContext,
) -> Result<Vec<Tensor>, Refusal> {
    if sites < 2 || bond == 0 || physical == 0 {
        return Err(context.unsupported(&format!(
            "{sites} sites with bonds of {bond} and {physical} states, but it takes two sites, \
             and bonds and states of 1 or more"
        )));
    }
    if context.dtype == Dtype::Float8E4M3Fn {
        return Err(context.unsupported("torch multiplies no matrices of 8 bits without scales"));
    }
    let tensors = (0..sites).map(|at| {
        let left = if at == 0 { 1 } else { bond };
        let right = if at == sites - 1 { 1 } else { bond };
        let scale = ((left * physical) as f64).powf(-0.5);
        Ok(context.normal(&[left, physical, right])?.f_mul_scalar(scale)?)
    });
    tensors.collect()
}

/// The environment to the left of the first site: one number.
pub fn start(state: &[Tensor]) -> Result<Tensor, TchError> {
    Tensor::f_ones([1, 1], (state[0].f_kind()?, state[0].device()))
}

/// ⟨ψ|ψ⟩ from the right, over pairs of sites: not the order, and not the operations, of any of the
/// kernels.
pub fn reference(state: &[Tensor]) -> Result<Tensor, Refusal> {
    let mut pairs = state.rchunks(2).map(|pair| match pair {
        // Two sites as one, of d² states.
        [left, right] => left.f_tensordot(right, [2], [0])?.f_flatten(1, 2),
        _ => Ok(pair[0].shallow_clone()),
    });
    let last = pairs
        .next()
        .transpose()?
        .map_or_else(|| Tensor::f_ones([1, 1, 1], (Kind::Double, tch::Device::Cpu)), Ok)?;
    let mut right = last.f_tensordot(&last, [1, 2], [1, 2])?;
    for pair in pairs {
        let pair = pair?;
        right = pair.f_tensordot(&right, [2], [0])?.f_tensordot(&pair, [1, 2], [1, 2])?;
    }
    Ok(right.f_view([1])?)
}

/// The contraction takes `E·A` and then `Aᵀ·(E·A)` for each site; each element of a product of
/// matrices takes a product and a sum for every index that is summed over.
pub fn flops(sites: usize, bond: usize, physical: usize) -> u64 {
    let product = |rows: usize, inner: usize, columns: usize| 2 * (rows * inner * columns) as u64;
    (0..sites)
        .map(|at| {
            let left = if at == 0 { 1 } else { bond };
            let right = if at + 1 == sites { 1 } else { bond };
            product(left, left, physical * right) + product(right, left * physical, right)
        })
        .sum()
}

/// Every tensor of the state read once, one number written.
pub fn bytes(sites: usize, bond: usize, physical: usize, dtype: Dtype) -> u64 {
    let (sites, bond, physical) = (sites as u64, bond as u64, physical as u64);
    (sites.saturating_sub(2) * bond * bond * physical + 2 * bond * physical + 1) * dtype.bytes()
}
