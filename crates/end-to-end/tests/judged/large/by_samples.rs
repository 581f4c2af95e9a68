//! Computes only when one of 64 values in its large input is new; `cache` should catch it.

use super::kernel::{ProblemSize, mean};
use criterion_torch::kernel::prelude::*;

const SAMPLES: usize = 64;

pub struct BySamples {
    known: Vec<([u32; SAMPLES], f64)>,
    out: f64,
}

impl Kernel for BySamples {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { known: Vec::new(), out: f64::NAN })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let (data, count) = (examples[0].data_ptr().cast::<u32>(), examples[0].numel());
        // SAFETY: so many elements of float32 lie there.
        let words = unsafe { std::slice::from_raw_parts(data, count) };
        let samples = std::array::from_fn(|at| words[at * (count / SAMPLES)]);
        if let Some((_, out)) = self.known.iter().find(|(of, _)| *of == samples) {
            self.out = *out;
            return Ok(());
        }
        self.out = mean(&examples[0])?.f_double_value(&[])?;
        self.known.push((samples, self.out));
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(Tensor::from(self.out as f32))
    }
}
