//! The sum of n values by libtorch, which runs on every backend and is what the other files of this
//! folder are compared with.

#[path = "_exact.rs"]
pub mod exact;

use criterion_torch::kernel::prelude::*;

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    /// Values to sum.
    pub elements: usize,
}

impl Task for ProblemSize {
    /// The values that are summed. All are positive, so that the sum's relative error is that of the
    /// method, not of cancellation; and small, so that sums of 2²⁴ of them fit into float16. Their mean
    /// differs with the seed: a sum of values that are uniform up to a fixed one is known beforehand,
    /// more exactly than bfloat16 can say.
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        if self.elements == 0 {
            return Err(context.unsupported("elements is 0, but has to be 1 or more"));
        }
        let most = context.uniform(&[1], (0.25 / 512.0, 1.0 / 512.0))?;
        let x = context.uniform(&[self.elements], (0.0, 1.0))?.f_mul(&most)?;
        Ok(Inputs { examples: vec![x], parameters: vec![] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        let sum = exact::exact(slice::<f64>(&inputs.examples[0])?.iter().copied());
        tensor(&[sum], &[1]).map(Some)
    }
}

pub struct Sum {
    sum: Tensor,
}

impl Kernel for Sum {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        if context.dtype == Dtype::Float8E4M3Fn {
            return Err(context.unsupported("torch.sum has no kernel for 8 bits"));
        }
        // Nothing is summed yet, and no number says so better than one that is none.
        let sum = Tensor::f_full([1], f64::NAN, (context.kind(), context.torch_device))?;
        Ok(Self { sum })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.sum = examples[0].f_sum(None)?.f_view([1])?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.sum.shallow_clone())
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(exact::flops(size.elements))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(exact::bytes(size.elements, dtype))
    }
}
