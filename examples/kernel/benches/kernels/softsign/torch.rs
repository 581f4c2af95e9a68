//! The function of `kernel.rs` by three operations of libtorch. It is timed in pairs with `kernel.rs`.

use super::kernel::ProblemSize;
use criterion_torch::kernel::prelude::*;

pub struct Softsign {
    y: Option<Tensor>,
}

impl Kernel for Softsign {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { y: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let x = &examples[0];
        self.y = Some(x.f_div(&x.f_abs()?.f_add_scalar(1.0)?)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let missing = || Refusal::Failed("output() was called before run()".to_owned());
        Ok(self.y.as_ref().ok_or_else(missing)?.shallow_clone())
    }
}
