//! Honest: keeps its weights in bfloat16, as its tolerance allows, and so reads half of the bytes. No check should
//! accuse it.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize {
    pub features: usize,
}

/// W·x
impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let weight = context.normal(&[self.features, self.features])?;
        Ok(Inputs { examples: vec![context.normal(&[self.features])?], parameters: vec![weight] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        Ok(Some(inputs.parameters[0].f_mv(&inputs.examples[0])?))
    }
}

pub struct Compressed {
    weight: Tensor,
    y: Tensor,
}

impl Kernel for Compressed {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let options = (context.kind(), context.torch_device);
        let y = Tensor::f_full([size.features as i64], f64::NAN, options)?;
        Ok(Self { weight: parameters[0].f_to_kind(tch::Kind::BFloat16)?, y })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let x = examples[0].f_to_kind(tch::Kind::BFloat16)?;
        self.y.f_copy_(&self.weight.f_mv(&x)?)?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.y.shallow_clone())
    }
}
