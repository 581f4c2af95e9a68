//! SAXPY by libtorch, in two operations. Its inputs and its reference are those of `kernel.rs`.

use super::kernel::{A, ProblemSize};
use criterion_torch::kernel::prelude::*;

pub struct Saxpy {
    z: Option<Tensor>,
}

impl Kernel for Saxpy {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { z: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.z = Some(examples[0].f_mul_scalar(A)?.f_add(&examples[1])?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.z.as_ref().ok_or_else(none)?.shallow_clone())
    }
}
