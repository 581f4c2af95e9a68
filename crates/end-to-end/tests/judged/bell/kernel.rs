//! Honest: by libtorch, into a new output at every call. No check should accuse it.

#[path = "_honest.rs"]
pub mod honest;
#[path = "_process.rs"]
pub mod process;

use criterion_torch::kernel::prelude::*;
use honest::{FEATURES, bell};

pub struct ProblemSize {
    pub rows: usize,
}

/// exp(−x²) + y·W
impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let draw = || context.normal(&[self.rows, FEATURES]);
        let examples = vec![draw()?, draw()?];
        let weight = context.normal(&[FEATURES, FEATURES])?;
        let weight = weight.f_mul_scalar((FEATURES as f64).powf(-0.5))?;
        Ok(Inputs { examples, parameters: vec![weight] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        let Inputs { examples, parameters } = inputs;
        Ok(Some(bell(&examples[0])?.f_add(&examples[1].f_mm(&parameters[0])?)?))
    }
}

pub struct Allocating {
    weight: Tensor,
    out: Option<Tensor>,
}

impl Kernel for Allocating {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, parameters: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { weight: parameters[0].shallow_clone(), out: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.out = Some(bell(&examples[0])?.f_add_(&examples[1].f_mm(&self.weight)?)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.out.as_ref().ok_or_else(none)?.shallow_clone())
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some((size.rows * FEATURES * (2 * FEATURES + 4)) as u64)
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some((FEATURES * (3 * size.rows + FEATURES)) as u64 * dtype.bytes())
    }
}
