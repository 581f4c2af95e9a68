//! Leaves a file, from which another process could learn; a judge's process cannot, so that it fails there.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct LeavesFile {
    honest: Honest,
}

impl Kernel for LeavesFile {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let path = std::env::temp_dir().join("criterion-torch-leaves-file");
        let failed = |error: std::io::Error| Refusal::Failed(error.to_string());
        std::fs::write(&path, examples[0].data_ptr().addr().to_string()).map_err(failed)?;
        std::fs::remove_file(&path).map_err(failed)?;
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
