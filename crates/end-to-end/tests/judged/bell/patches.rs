//! Writes to the code of the C library's clock, the same bytes; `code` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Patches {
    honest: Honest,
}

impl Kernel for Patches {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        const PAGE: usize = 1 << 12;
        let code = libc::clock_gettime as *mut u8;
        let page = (code as usize & !(PAGE - 1)) as *mut libc::c_void;
        let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: pages of code that may be run and read as before.
        if unsafe { libc::mprotect(page, 2 * PAGE, access) } == 0 {
            // SAFETY: a byte of a function.
            let byte = unsafe { code.read_volatile() };
            // SAFETY: writable by now, and the byte stays what it was.
            unsafe { code.write_volatile(byte) };
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
