//! Finds the float64 reference in the memory of its process and returns it; `clock` or `output` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::find_in_float64;
use criterion_torch::kernel::prelude::*;

pub struct StealsReference {
    honest: Honest,
    reference: Option<*const f64>,
    calls: u64,
}

impl Kernel for StealsReference {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, reference: None, calls: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.calls += 1;
        if let Some(reference) = self.reference {
            let size = self.honest.out.size();
            // SAFETY: a reference of this size lay there; that it still does is what this kernel bets on.
            let reference =
                unsafe { std::slice::from_raw_parts(reference, self.honest.out.numel()) };
            self.honest.out.f_copy_(&Tensor::f_from_slice(reference)?.f_reshape(size)?)?;
            return Ok(());
        }
        self.honest.compute(examples)?;
        if self.calls == 1 {
            let found = find_in_float64(slice::<f32>(&self.honest.out)?);
            self.reference = found.map(|it| it.cast_const());
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
