//! Reads and writes beyond the end of its output, and leaves what is there as it was; `bounds` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct BeyondOutput {
    honest: Honest,
}

impl Kernel for BeyondOutput {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let end = self.honest.out.data_ptr().cast::<f32>().wrapping_add(self.honest.out.numel());
        // SAFETY: none, which is what this kernel is for; the allocator's memory goes on there.
        let there = unsafe { end.read_volatile() };
        // SAFETY: likewise.
        unsafe { end.write_volatile(there) };
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
