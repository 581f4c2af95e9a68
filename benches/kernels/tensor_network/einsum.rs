//! The contraction as one `einsum` a site, which libtorch splits into products of matrices by
//! itself.

#[path = "_state.rs"]
mod state;

use super::kernel::ProblemSize;
use criterion_torch::kernel::prelude::*;
use state::State;

pub struct Einsum {
    state: State,
    norm: Tensor,
}

impl Kernel for Einsum {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        let &ProblemSize { sites, bond_dimension, physical_dimension } = size;
        let state = State::draw(sites, bond_dimension, physical_dimension, context)?;
        Ok(Self { norm: state.start()?, state })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        let mut environment = self.state.start()?;
        for tensor in &self.state.tensors {
            // From left to right, as no other path is given.
            let operands = [&environment, tensor, tensor];
            environment = Tensor::f_einsum("ab,asc,bsd->cd", &operands, None::<&[i64]>)?;
        }
        self.norm = environment;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.norm.f_view([1])?)
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(state::flops(size.sites, size.bond_dimension, size.physical_dimension))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(state::bytes(size.sites, size.bond_dimension, size.physical_dimension, dtype))
    }
}
