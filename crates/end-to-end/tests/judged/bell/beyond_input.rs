//! Reads 4 KiB beyond the end of its input; `inputs` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct BeyondInput {
    honest: Honest,
}

impl Kernel for BeyondInput {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        // The lower one has the other behind it, where no guard page is.
        let lower = examples.iter().min_by_key(|it| it.data_ptr() as usize);
        let lower = lower.ok_or_else(|| Refusal::Failed("no inputs".to_owned()))?;
        let end = lower.data_ptr().cast::<f32>().wrapping_add(lower.numel());
        for line in (0..1024).step_by(16) {
            // SAFETY: none, which is what this kernel is for; a number that is read and not used.
            std::hint::black_box(unsafe { end.wrapping_add(line).read_volatile() });
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
