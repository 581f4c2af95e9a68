//! Changes the record of its run when the run ends, after its judge has answered; `record` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;
use std::path::Path;
use std::sync::Once;

pub struct ForgesRecord {
    honest: Honest,
}

/// More outputs than were compared.
fn forge() -> std::io::Result<()> {
    let home = std::env::var_os("CRITERION_HOME").unwrap_or_default();
    let records = Path::new(&home).with_file_name("criterion-torch").join("new/kernels.jsonl");
    let text = std::fs::read_to_string(&records)?;
    std::fs::write(&records, text.replace("\"compared\":", "\"compared\":1"))
}

extern "C" fn at_exit() {
    drop(forge());
}

impl Kernel for ForgesRecord {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the function lives as long as the process.
            unsafe { libc::atexit(at_exit) };
        });
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
