//! Honest: leaves out an input that its task draws and its reference ignores. `task` should say so.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize {
    pub rows: usize,
}

/// 2x, whatever y is
impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let draw = || context.normal(&[self.rows, self.rows]);
        Ok(Inputs { examples: vec![draw()?, draw()?], parameters: vec![] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        Ok(Some(inputs.examples[0].f_mul_scalar(2.0)?))
    }
}

pub struct Doubled {
    out: Tensor,
}

impl Kernel for Doubled {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        let options = (context.kind(), context.torch_device);
        Ok(Self { out: Tensor::f_full([size.rows as i64; 2], f64::NAN, options)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        drop(examples[0].f_add_out(&self.out, &examples[0])?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.out.shallow_clone())
    }
}
