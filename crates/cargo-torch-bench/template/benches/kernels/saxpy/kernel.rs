//! z = a·x + y, by a loop. It is the baseline, with which the other files of this folder are compared.

use criterion_torch::kernel::prelude::*;

#[derive(Default)]
pub struct ProblemSize {
    pub elements: usize,
}

pub const A: f64 = 2.5;

pub struct Saxpy<T> {
    x: Vec<T>,
    y: Vec<T>,
    z: Vec<T>,
}

impl<T: Element> Kernel for Saxpy<T> {
    type ProblemSize = ProblemSize;

    /// The inputs, which are not timed.
    fn prepare(size: &ProblemSize, context: &KernelContext) -> Result<Self, Refusal> {
        let draw = || values(&context.normal(&[size.elements])?);
        let z = vec![T::from_f64(0.0); size.elements];
        Ok(Self { x: draw()?, y: draw()?, z })
    }

    /// Only this is timed.
    fn run(&mut self) -> Result<(), Refusal> {
        let a = T::Wide::from_f64(A);
        for ((z, x), y) in self.z.iter_mut().zip(&self.x).zip(&self.y) {
            *z = T::narrow(a * T::wide(*x) + T::wide(*y));
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.z, &[self.z.len()])
    }

    /// The reference, in float64. A kernel that computes something else is `failed`, however fast it is.
    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        let exact = self.x.iter().zip(&self.y).map(|(x, y)| A * x.to_f64() + y.to_f64());
        let exact: Vec<f64> = exact.collect();
        Ok(Some(tensor(&exact, &[exact.len()])?))
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(2 * size.elements as u64)
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(3 * size.elements as u64 * dtype.bytes())
    }
}
