//! The sum of n values by libtorch, which runs on every backend and is what the other files of this
//! folder are compared with.

#[path = "_exact.rs"]
mod exact;

use criterion_torch::kernel::prelude::*;

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    /// Values to sum.
    pub elements: usize,
}

pub struct Sum {
    x: Tensor,
    sum: Tensor,
}

impl Kernel for Sum {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        if context.dtype == Dtype::Float8E4M3Fn {
            return Err(context.unsupported("torch.sum has no kernel for 8 bits"));
        }
        let x = exact::draw(size.elements, context)?;
        // Nothing is summed yet, and no number says so better than one that is none.
        let sum = Tensor::f_full([1], f64::NAN, (x.f_kind()?, context.torch_device))?;
        Ok(Self { x, sum })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.sum = self.x.f_sum(None)?.f_view([1])?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.sum.shallow_clone())
    }

    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        let wide = self.x.f_to_kind(tch::Kind::Double)?;
        let sum = exact::exact(values::<f64>(&wide)?);
        tensor(&[sum], &[1]).map(Some)
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(exact::flops(size.elements))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(exact::bytes(size.elements, dtype))
    }
}
