//! The Python that has Triton, and stays for the next kernel.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The version that compiles. It is part of what a kernel is kept under, so that no Python is asked for
/// what is there.
pub(super) use ::libtorch::TRITON;

use libtorch::Interpreter;
use libtorch::child::{self, Patience, RunError, Workers};
use native::refusal::Refusal;

/// The script that compiles.
pub(super) const DRIVER: &str = include_str!("compile.py");

fn remedy() -> String {
    format!(
        "install triton: pip install triton=={TRITON}, or set CRITERION_TORCH_PYTHON to a python \
         that has it"
    )
}

/// A kernel takes less than a second, the first one two.
const PATIENCE: Patience =
    Patience { quiet: Some(Duration::from_secs(5)), limit: Duration::from_secs(300) };

/// A Python that has [`TRITON`], and runs a script.
#[derive(Debug)]
pub(super) struct Python {
    interpreter: Interpreter,
    workers: Workers,
    /// Which kernel had no answer, after which none is compiled.
    hung: OnceLock<String>,
}

/// The Python of this machine, asked once.
pub(super) fn python() -> Result<&'static Python, Refusal> {
    static FOUND: OnceLock<Result<Python, Refusal>> = OnceLock::new();
    FOUND
        .get_or_init(|| Python::with_triton(Interpreter::compiling()))
        .as_ref()
        .map_err(Clone::clone)
}

impl Python {
    fn with_triton(interpreter: &Interpreter) -> Result<Self, Refusal> {
        interpreter.demand("triton", TRITON, &remedy()).map_err(Refusal::Skipped)?;
        Ok(Self::new(interpreter, DRIVER))
    }

    fn new(interpreter: &Interpreter, script: &'static str) -> Self {
        let workers = Workers::new(interpreter.program(), script, without_settings);
        Self { interpreter: interpreter.clone(), workers, hung: OnceLock::new() }
    }

    /// The script's answer to a request. Variables that change what Triton does are taken away.
    pub fn ask(&self, request: &str, what: &str) -> Result<Vec<u8>, Refusal> {
        let failed = |text: &str| Refusal::Failed(format!("Triton {TRITON}, {what}: {text}"));
        if let Some(before) = self.hung.get() {
            return Err(failed(before));
        }
        self.workers.ask(request, what, PATIENCE).map_err(|error| match error {
            RunError::Start(error) => {
                failed(&format!("{}: {error}", self.interpreter.program().display()))
            }
            RunError::Failed(text) => failed(&text),
            RunError::Hung(text) => {
                self.hung.get_or_init(|| format!("not tried again after {what}: {text}"));
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
