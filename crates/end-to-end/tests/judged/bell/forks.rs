//! Starts a process that works for 200 ms after the call; `threads` or `process` should catch it.

use std::time::Duration;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::spin;
use criterion_torch::kernel::prelude::*;

pub struct Forks {
    honest: Honest,
    child: libc::pid_t,
}

impl Kernel for Forks {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, child: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let none = std::ptr::null_mut();
        // SAFETY: asks for a child that has ended, and waits for none.
        let ended = |child| unsafe { libc::waitpid(child, none, libc::WNOHANG) } != 0;
        if self.child == 0 || ended(self.child) {
            // SAFETY: the child calls nothing that needs a lock of another thread.
            self.child = unsafe { libc::fork() };
            if self.child == 0 {
                spin(Duration::from_millis(200));
                // SAFETY: ends the child.
                unsafe { libc::_exit(0) };
            }
            if self.child < 0 {
                return Err(Refusal::Failed("no process can be started".to_owned()));
            }
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
