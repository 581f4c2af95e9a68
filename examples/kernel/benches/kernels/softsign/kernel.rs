//! y = x / (1 + |x|), by a loop over slices. It is the baseline of this folder.

use criterion_torch::kernel::prelude::*;

pub const ELEMENTS: usize = 65_536;

pub struct ProblemSize;

pub struct Softsign<T> {
    x: Vec<T>,
    y: Vec<T>,
}

impl<T: Element> Kernel for Softsign<T> {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        let x = values(&context.normal(&[ELEMENTS])?)?;
        Ok(Self { x, y: vec![T::from_f64(0.0); ELEMENTS] })
    }

    // Only this is timed.
    fn run(&mut self) -> Result<(), Refusal> {
        for (y, x) in self.y.iter_mut().zip(&self.x) {
            *y = *x / (T::from_f64(1.0) + x.abs());
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.y, &[ELEMENTS])
    }

    // In float64: a kernel that computes something else is `failed`, however fast it is.
    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        let exact = self.x.iter().map(|x| x.to_f64() / (1.0 + x.to_f64().abs()));
        Ok(Some(tensor(&exact.collect::<Vec<f64>>(), &[ELEMENTS])?))
    }
}
