//! The function of `kernel.rs` by three operations of libtorch. It is timed in pairs with `kernel.rs`.

use super::kernel::{ELEMENTS, ProblemSize};
use criterion_torch::kernel::prelude::*;

pub struct Softsign {
    x: Tensor,
    y: Option<Tensor>,
}

impl Kernel for Softsign {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { x: context.normal(&[ELEMENTS])?, y: None })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        let divisor = self.x.f_abs()?.f_add_scalar(1.0)?;
        self.y = Some(self.x.f_div(&divisor)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let missing = || Refusal::Failed("output() was called before run()".to_owned());
        Ok(self.y.as_ref().ok_or_else(missing)?.shallow_clone())
    }
}
