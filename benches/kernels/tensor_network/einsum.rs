//! The contraction as one `einsum` a site, which libtorch splits into products of matrices by
//! itself.

use super::kernel::{ProblemSize, state};
use criterion_torch::kernel::prelude::*;

pub struct Einsum {
    norm: Tensor,
}

impl Kernel for Einsum {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        let options = (context.kind(), context.torch_device);
        Ok(Self { norm: Tensor::f_full([1, 1], f64::NAN, options)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let mut environment = state::start(examples)?;
        for tensor in examples {
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
