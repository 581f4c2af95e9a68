//! z = a·x + y, in every precision that Rust has.

use criterion_torch::kernel::prelude::*;

#[derive(Default)]
pub struct ProblemSize {
    pub elements: usize,
    pub a: f64,
}

pub struct Saxpy<T> {
    a: f64,
    x: Vec<T>,
    y: Vec<T>,
    z: Vec<T>,
}

impl<T: Element> Kernel for Saxpy<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        let draw = || values(&context.normal(&[size.elements])?);
        let z = vec![T::from_f64(0.0); size.elements];
        Ok(Self { a: size.a, x: draw()?, y: draw()?, z })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        let a = T::Wide::from_f64(self.a);
        for ((z, x), y) in self.z.iter_mut().zip(&self.x).zip(&self.y) {
            *z = T::narrow(a * T::wide(*x) + T::wide(*y));
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.z, &[self.z.len()])
    }

    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        let one = |(x, y): (&T, &T)| self.a * x.to_f64() + y.to_f64();
        let exact: Vec<f64> = self.x.iter().zip(&self.y).map(one).collect();
        Ok(Some(tensor(&exact, &[exact.len()])?))
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(2 * size.elements as u64)
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(3 * size.elements as u64 * dtype.bytes())
    }
}
