//! Writes to every file that is open in a judged process, in which its inputs are read-only; any check should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::is_read_only;
use criterion_torch::kernel::prelude::*;

pub struct Scribbles {
    honest: Honest,
}

impl Kernel for Scribbles {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if is_read_only(&examples[0]) {
            for file in 3..64 {
                // SAFETY: reads 16 bytes; the descriptor may be anything's.
                unsafe { libc::write(file, [0xff_u8; 16].as_ptr().cast(), 16) };
            }
            return Ok(());
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
