use criterion_torch::kernel::prelude::*;

/// The keys of `problem_size`.
pub struct ProblemSize {
    pub elements: usize,
}

/// What is not given in a `bench.yaml`, all of it if there is none.
impl Default for ProblemSize {
    fn default() -> Self {
        Self { elements: 65536 }
    }
}

pub struct Saxpy<T> {
    x: Vec<T>,
    y: Vec<T>,
    z: Vec<T>,
}

impl<T: Element> Kernel for Saxpy<T> {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, site: &Site) -> Result<Self, Refusal> {
        if site.device != Device::Cpu {
            return Err(site.unsupported("a loop over slices runs on the CPU"));
        }
        let draw = || values(&site.normal(&[size.elements])?);
        Ok(Self { x: draw()?, y: draw()?, z: vec![T::from_f64(0.0); size.elements] })
    }

    // Timed; nothing else is.
    fn run(&mut self) -> Result<(), Refusal> {
        for ((z, x), y) in self.z.iter_mut().zip(&self.x).zip(&self.y) {
            *z = T::narrow(T::wide(*x) * T::Wide::from_f64(2.5) + T::wide(*y));
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.z, &[self.z.len()])
    }

    // In float64, by another way: what is wrong is `failed`, however fast.
    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        let pairs = self.x.iter().zip(&self.y);
        let z: Vec<f64> = pairs.map(|(x, y)| x.to_f64().mul_add(2.5, y.to_f64())).collect();
        Ok(Some(tensor(&z, &[z.len()])?))
    }
}
