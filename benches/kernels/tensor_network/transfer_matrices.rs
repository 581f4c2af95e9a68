//! Contracts in a worse order: first the two tensors of every site, into a transfer matrix
//! `[D², D²]`, then the environment through all of them. This takes 2·(d + 1)·D⁴ operations a site
//! instead of 4·d·D³: it shows the cost of a bad order.

#[path = "_state.rs"]
mod state;

use super::kernel::ProblemSize;
use criterion_torch::kernel::prelude::*;
use state::State;

pub struct TransferMatrices {
    state: State,
    norm: Tensor,
}

impl Kernel for TransferMatrices {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        let &ProblemSize { sites, bond_dimension, physical_dimension } = size;
        let state = State::draw(sites, bond_dimension, physical_dimension, context)?;
        Ok(Self { norm: state.start()?, state })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        let mut environment = self.state.start()?;
        for tensor in &self.state.tensors {
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
