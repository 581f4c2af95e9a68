//! Writes where no tensor is, on purpose: CUDA then reports the error at each later call of the process.
//! The address is a parameter, because the compiler would make a trap of a null pointer that it sees.

use criterion_torch::kernel::cuda::{Argument, Function, Grid, Source};
use criterion_torch::kernel::prelude::*;

pub const SOURCE: Source = Source {
    name: "illegal_access.cu",
    text: r#"
        extern "C" __global__ void illegal_access_f32(long long address) {
          *reinterpret_cast<volatile int*>(address) = 1;
        }"#,
};

pub struct ProblemSize {}

pub struct IllegalAccess {
    output: Tensor,
    write: Function,
}

impl Kernel for IllegalAccess {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], context: &KernelContext) -> Result<Self, Refusal> {
        let write = SOURCE.function("illegal_access_f32", context)?;
        Ok(Self { output: Tensor::f_zeros([1], (tch::Kind::Float, context.torch_device))?, write })
    }

    fn run(&mut self, _: &[Tensor]) -> Result<(), Refusal> {
        // SAFETY: the parameter is the entry's. Its address is nobody's, so the device stops the kernel
        // and no memory is written.
        unsafe { self.write.launch(Grid::new(1, 1)?, &[Argument::Long(0)]) }
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.output.shallow_clone())
    }
}
