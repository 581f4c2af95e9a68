//! The Python that has Triton.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The version that compiles. It is part of what a kernel is kept under, so that no Python is asked for
/// what is there.
pub(super) use ::libtorch::TRITON;

use libtorch::Interpreter;
use libtorch::child::{self, Patience, Program, RunError};
use native::refusal::Refusal;

fn remedy() -> String {
    format!(
        "install triton: pip install triton=={TRITON}, or set CRITERION_TORCH_PYTHON to a python \
         that has it"
    )
}

/// A kernel takes a second.
const PATIENCE: Patience =
    Patience { quiet: Some(Duration::from_secs(5)), limit: Duration::from_secs(300) };

/// A Python that has [`TRITON`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Python {
    interpreter: Interpreter,
}

/// The Python of this machine, asked once.
pub(super) fn python() -> Result<&'static Python, Refusal> {
    static FOUND: OnceLock<Result<Python, Refusal>> = OnceLock::new();
    FOUND
        .get_or_init(|| Python::with_triton(Interpreter::compiling().clone()))
        .as_ref()
        .map_err(Clone::clone)
}

impl Python {
    fn with_triton(interpreter: Interpreter) -> Result<Self, Refusal> {
        interpreter.demand("triton", TRITON, &remedy()).map_err(Refusal::Skipped)?;
        Ok(Self { interpreter })
    }

    /// Runs the script with `input` on stdin, and returns its stdout. Variables that change what
    /// Triton does are taken away.
    pub fn run(&self, script: &str, what: &str, input: &[u8]) -> Result<Vec<u8>, Refusal> {
        static HUNG: OnceLock<String> = OnceLock::new();
        let failed = |text: &str| Refusal::Failed(format!("Triton {TRITON}, {what}: {text}"));
        if let Some(before) = HUNG.get() {
            return Err(failed(before));
        }
        let interpreter = self.interpreter.program();
        let program = Program { interpreter, script, what, patience: PATIENCE };
        program.output(input, without_settings).map_err(|error| match error {
            RunError::Start(error) => failed(&format!("{}: {error}", interpreter.display())),
            RunError::Failed(text) => failed(&text),
            RunError::Hung(text) => {
                HUNG.get_or_init(|| format!("not tried again after {what}: {text}"));
                failed(&text)
            }
        })
    }
}

fn without_settings(command: &mut Command) {
    child::without_variables(command, &["TRITON_"]);
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
