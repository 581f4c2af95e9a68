//! Doubles what it has doubled before.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize;

impl Task for ProblemSize {
    fn reference(&self, _: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        Ok(Some(tensor(&[2.0_f64; 8], &[8])?))
    }
}

pub struct Doubles(Vec<f32>);

impl Kernel for Doubles {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self(vec![1.0; 8]))
    }

    fn run(&mut self, _: &[Tensor]) -> Result<(), Refusal> {
        for value in &mut self.0 {
            *value *= 2.0;
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.0, &[8])
    }
}
