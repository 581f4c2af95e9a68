//! y = x / (1 + |x|), by a loop over slices. It is the baseline of this folder.

use criterion_torch::kernel::prelude::*;

const ELEMENTS: usize = 65_536;
pub struct ProblemSize;

impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        Ok(Inputs { examples: vec![context.normal(&[ELEMENTS])?], parameters: vec![] })
    }

    // In float64, as `inputs` are: a kernel that computes something else is `failed`, however fast it is.
    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        let x = &inputs.examples[0];
        Ok(Some(x.f_div(&x.f_abs()?.f_add_scalar(1.0)?)?))
    }
}

pub struct Softsign<T>(Vec<T>);

impl<T: Element> Kernel for Softsign<T> {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self(vec![T::from_f64(0.0); ELEMENTS]))
    }

    // Only this is timed.
    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        for (y, x) in self.0.iter_mut().zip(slice::<T>(&examples[0])?) {
            *y = *x / (T::from_f64(1.0) + x.abs());
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.0, &[ELEMENTS])
    }
}
