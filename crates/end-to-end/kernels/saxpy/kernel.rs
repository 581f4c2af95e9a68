//! z = a·x + y, in every precision that Rust has.

use criterion_torch::kernel::prelude::*;

#[derive(Default)]
pub struct ProblemSize {
    pub elements: usize,
    pub a: f64,
}

impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let draw = || context.normal(&[self.elements]);
        Ok(Inputs { examples: vec![draw()?, draw()?], parameters: vec![] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        Ok(Some(inputs.examples[0].f_mul_scalar(self.a)?.f_add(&inputs.examples[1])?))
    }
}

pub struct Saxpy<T> {
    a: f64,
    z: Vec<T>,
}

impl<T: Element> Kernel for Saxpy<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { a: size.a, z: vec![T::from_f64(0.0); size.elements] })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let (x, y) = (slice::<T>(&examples[0])?, slice::<T>(&examples[1])?);
        let a = T::Wide::from_f64(self.a);
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
