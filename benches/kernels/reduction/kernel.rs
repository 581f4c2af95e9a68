//! The sum of n values by libtorch, which runs on every backend and is what the other files of this
//! folder are compared with.

#[path = "_exact.rs"]
mod exact;

use criterion_torch::kernel::prelude::*;

/// The keys of `problem_size` in `bench.yaml`.
pub struct ProblemSize {
    /// Values to sum.
    pub elements: usize,
}

pub struct Sum {
    x: Tensor,
    sum: Tensor,
}

impl Kernel for Sum {
    type ProblemSize = ProblemSize;

    fn prepare(size: &ProblemSize, site: &Site) -> Result<Self, Refusal> {
        if site.dtype == Dtype::Float8E4M3Fn {
            return Err(site.unsupported("torch.sum has no kernel for 8 bits"));
        }
        let x = exact::draw(size.elements, site)?;
        // Nothing is summed yet, and no number says so better than one that is none.
        let sum = Tensor::f_full([1], f64::NAN, (x.f_kind()?, site.place))?;
        Ok(Self { x, sum })
    }

    fn run(&mut self) -> Result<(), Refusal> {
        self.sum = self.x.f_sum(None)?.f_view([1])?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.sum.shallow_clone())
    }

    fn reference(&self) -> Result<Option<Tensor>, Refusal> {
        let values = self.x.f_to_device(tch::Device::Cpu)?.f_to_kind(tch::Kind::Double)?;
        let mut wide = vec![0.0; values.numel()];
        values.f_copy_data(&mut wide, values.numel())?;
        Ok(Some(Tensor::f_from_slice(&[exact::exact(wide)])?))
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(exact::flops(size.elements))
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(exact::bytes(size.elements, dtype))
    }
}
