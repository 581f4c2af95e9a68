//! y = 2·x by torch, as it should be.

use criterion_torch::kernel::prelude::*;

#[derive(Default)]
pub struct ProblemSize {
    pub elements: usize,
}

pub struct Scaled {
    x: Tensor,
    y: Option<Tensor>,
}

impl Kernel for Scaled {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { x: context.normal(&[size.elements])?, y: None })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.y = Some(self.x.f_mul_scalar(2.0)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.y.as_ref().ok_or_else(none)?.shallow_clone())
    }

    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        Ok(Some(self.x.f_to_kind(tch::Kind::Double)?.f_mul_scalar(2.0)?))
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(size.elements as u64)
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(2 * size.elements as u64 * dtype.bytes())
    }
}
