//! SAXPY by libtorch, in two operations. It is held against the reference of `kernel.rs`.

use super::kernel::{A, ProblemSize};
use criterion_torch::kernel::prelude::*;

pub struct Saxpy {
    x: Tensor,
    y: Tensor,
    z: Option<Tensor>,
}

impl Kernel for Saxpy {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        let draw = || context.normal(&[size.elements]);
        Ok(Self { x: draw()?, y: draw()?, z: None })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.z = Some(self.x.f_mul_scalar(A)?.f_add(&self.y)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.z.as_ref().ok_or_else(none)?.shallow_clone())
    }
}
