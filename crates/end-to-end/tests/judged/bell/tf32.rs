//! Rounds the factors of its product to the 11 bits of TF32; the gate of float32 refuses it as inaccurate.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Tf32 {
    honest: Honest,
}

impl Kernel for Tf32 {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let mut honest = Honest::new(size, parameters, context)?;
        honest.weight = rounded(&honest.weight)?;
        Ok(Self { honest })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute(&[examples[0].shallow_clone(), rounded(&examples[1])?])
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}

/// Rounds to nearest, and clears the 13 bits that TF32 lacks.
fn rounded(values: &Tensor) -> Result<Tensor, Refusal> {
    let nearest = |it: &f32| f32::from_bits((it.to_bits() + 0x1000) & !0x1fff);
    let rounded: Vec<f32> = slice::<f32>(values)?.iter().map(nearest).collect();
    Ok(Tensor::f_from_slice(&rounded)?.f_reshape(values.size())?)
}
