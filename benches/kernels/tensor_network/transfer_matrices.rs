//! Contracts in a worse order: first the two tensors of every site, into a transfer matrix
//! `[D², D²]`, then the environment through all of them. This takes 2·(d + 1)·D⁴ operations a site
//! instead of 4·d·D³: it shows the cost of a bad order.

use super::kernel::{ProblemSize, state};
use criterion_torch::kernel::prelude::*;

pub struct TransferMatrices {
    norm: Tensor,
}

impl Kernel for TransferMatrices {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        let options = (context.kind(), context.torch_device);
        Ok(Self { norm: Tensor::f_full([1, 1], f64::NAN, options)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let mut environment = state::start(examples)?;
        for tensor in examples {
            let (left, _, right) = tensor.size3()?;
            let transfer = Tensor::f_einsum("asc,bsd->abcd", &[tensor, tensor], None::<&[i64]>)?;
            let transfer = transfer.f_reshape([left * left, right * right])?;
            environment = environment.f_view([1, left * left])?.f_mm(&transfer)?;
        }
        self.norm = environment;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.norm.f_view([1])?)
    }

    /// This order takes, for each site, d products and sums for every element of the transfer matrix,
    /// and one more for the environment.
    fn flops(size: &ProblemSize) -> Option<u64> {
        let &ProblemSize { sites, bond_dimension, physical_dimension } = size;
        let (bond, physical) = (bond_dimension as u64, physical_dimension as u64);
        let of_site = |elements: u64| 2 * (physical + 1) * elements;
        let inner = sites.saturating_sub(2) as u64;
        Some(inner * of_site(bond.pow(4)) + 2 * of_site(bond.pow(2)))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(state::bytes(size.sites, size.bond_dimension, size.physical_dimension, dtype))
    }
}
