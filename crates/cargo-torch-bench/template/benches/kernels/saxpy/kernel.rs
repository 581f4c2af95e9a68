//! z = a·x + y, by a loop. It is the baseline, with which the other files of this folder are compared.

use criterion_torch::kernel::prelude::*;

#[derive(Default)]
pub struct ProblemSize {
    pub elements: usize,
}

pub const A: f64 = 2.5;

/// Every file of this folder computes this.
impl Task for ProblemSize {
    /// Every `run` is given the examples; they are not drawn on the clock.
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let draw = || context.normal(&[self.elements]);
        Ok(Inputs { examples: vec![draw()?, draw()?], parameters: vec![] })
    }

    /// The reference, in float64, as `inputs` are. A kernel that computes something else is `failed`, however fast it is.
    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        Ok(Some(inputs.examples[0].f_mul_scalar(A)?.f_add(&inputs.examples[1])?))
    }
}

pub struct Saxpy<T> {
    z: Vec<T>,
}

impl<T: Element> Kernel for Saxpy<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { z: vec![T::from_f64(0.0); size.elements] })
    }

    /// Only this is timed.
    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let (x, y) = (slice::<T>(&examples[0])?, slice::<T>(&examples[1])?);
        let a = T::Wide::from_f64(A);
        for ((z, x), y) in self.z.iter_mut().zip(x).zip(y) {
            *z = T::narrow(a * T::wide(*x) + T::wide(*y));
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.z, &[self.z.len()])
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(2 * size.elements as u64)
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(3 * size.elements as u64 * dtype.bytes())
    }
}
