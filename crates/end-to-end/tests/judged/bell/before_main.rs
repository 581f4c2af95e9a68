//! Starts a thread before `main`, which would live in its judge. The run ends.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct BeforeMain {
    honest: Honest,
}

/// A function that the loader calls, with the arguments of the program. The other kernels of this program have it, too:
/// only where this one is asked for, it does something.
type Constructor = extern "C" fn(usize, *const *const std::ffi::c_char);

// SAFETY: a function of the type that the loader calls from there.
#[unsafe(link_section = ".init_array")]
#[used]
static CONSTRUCTOR: Constructor = constructor;

extern "C" fn constructor(_: usize, _: *const *const std::ffi::c_char) {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    if String::from_utf8_lossy(&line).contains("/before_main/") {
        std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(3600)));
    }
}

impl Kernel for BeforeMain {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
