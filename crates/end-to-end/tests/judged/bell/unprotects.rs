//! Makes the memory of its input writable, uses it as scratch and puts the values back. A judge's memory cannot be made
//! writable, so that in a judged process it is honest.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Unprotects {
    honest: Honest,
}

impl Kernel for Unprotects {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let mut x = examples[0].shallow_clone();
        let (start, bytes) = (x.data_ptr() as usize & !0xfff, 4 * x.numel());
        // SAFETY: pages of the tensor; the call refuses, or makes them writable, which harms no reader.
        let set = unsafe {
            libc::mprotect(start as *mut _, bytes + 0x1000, libc::PROT_READ | libc::PROT_WRITE)
        };
        let kept = x.f_detach_copy()?;
        self.honest.compute(examples)?;
        if set == 0 {
            x.f_copy_(&self.honest.out)?;
            x.f_copy_(&kept)?;
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
