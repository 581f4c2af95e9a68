//! saxpy by torch.

use super::kernel::ProblemSize;
use criterion_torch::kernel::prelude::*;

pub struct Saxpy {
    a: f64,
    z: Option<Tensor>,
}

impl Kernel for Saxpy {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { a: size.a, z: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.z = Some(examples[0].f_mul_scalar(self.a)?.f_add(&examples[1])?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.z.as_ref().ok_or_else(none)?.shallow_clone())
    }
}
