//! A graph becomes a package, in a child process (`aot_compile.py`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plan::CompileMode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input::Input;
use super::toolchain::{self, CAPABILITY, Compiler};
use crate::native;
use crate::refusal::Refusal;
use ::libtorch::Interpreter;
use ::libtorch::child::{Patience, Program, RunError, without_variables};

pub(super) const PROGRAM: &str = include_str!("aot_compile.py");

/// Variables that change what is compiled begin with these: Inductor's own, and those that give GCC
/// other headers, libraries or parts of itself. None of them is in a package's key. (PYTHONPATH may
/// be where the Python has its torch, whose version is looked at.)
pub const SETTINGS: [&str; 13] = [
    "TORCH",
    "PYTORCH_",
    "INDUCTOR_",
    "AOT_INDUCTOR",
    "AOTINDUCTOR",
    "ATEN_",
    "TRITON_",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
];

#[derive(Debug, Serialize)]
pub(super) struct Request<'r> {
    pub graph: &'r Path,
    pub inputs: &'r [Input],
    pub mode: CompileMode,
    pub threads: u64,
    pub scratch: &'r Path,
    pub probes: &'r Path,
    pub package: &'r Path,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InductorReply {
    pub torch: String,
    pub options: BTreeMap<String, Value>,
    pub target: String,
    pub kernels: Vec<String>,
    pub seconds: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    refused: Kind,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Unsupported,
    Oom,
    Failed,
}

pub(super) fn compile(
    python: &Interpreter,
    compiler: &Compiler,
    request: &Request<'_>,
    limit: Duration,
) -> Result<InductorReply, Refusal> {
    let shown = format!("AOTInductor of {}", python.program().display());
    let failed = |why: String| Refusal::Failed(format!("{shown}: {why}"));
    let patience = Patience { quiet: None, limit };
    let interpreter = python.program();
    let program = Program { interpreter, script: PROGRAM, what: "compiling", patience };
    let input = serde_json::to_vec(request).map_err(|error| failed(error.to_string()))?;
    let output = program.output(&input, |command| {
        surround(command, compiler, request.scratch, toolchain::capability());
    });
    let output = output.map_err(|error| match error {
        RunError::Start(error) => failed(error.to_string()),
        RunError::Failed(text) if native::is_out_of_memory(last_line(&text)) => {
            Refusal::Oom(format!("{shown}: {text}"))
        }
        RunError::Failed(text) => failed(text),
        RunError::Hung(text) => Refusal::Timeout(format!("{shown}: {text}; see compile_timeout_s")),
    })?;
    let answer = match parse(&output).map_err(|why| failed(format!("its answer: {why}")))? {
        Ok(answer) => answer,
        Err(Refused { refused, reason }) => {
            let reason = format!("Inductor: {reason}");
            return Err(match refused {
                Kind::Unsupported => Refusal::Unsupported(reason),
                Kind::Oom => Refusal::Oom(reason),
                Kind::Failed => Refusal::Failed(reason),
            });
        }
    };
    // Another Python may have come in the place of the one that was asked.
    if ::libtorch::release(&answer.torch) != ::libtorch::VERSION {
        return Err(failed(format!("it has torch {}, not {}", answer.torch, ::libtorch::VERSION)));
    }
    Ok(answer)
}

fn parse(output: &[u8]) -> Result<Result<InductorReply, Refused>, String> {
    let value: Value = serde_json::from_slice(output).map_err(|error| error.to_string())?;
    let parsed = if value.get("refused").is_some() {
        serde_json::from_value(value).map(Err)
    } else {
        serde_json::from_value(value).map(Ok)
    };
    parsed.map_err(|error| error.to_string())
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

/// The child's environment: nothing that changes the code but what the eager operations obey, too,
/// and its temporary files where they are removed with the rest when it is killed.
fn surround(
    command: &mut Command,
    compiler: &Compiler,
    scratch: &Path,
    capability: Option<OsString>,
) {
    without_variables(command, &SETTINGS);
    command.env("CXX", &compiler.program).env("TMPDIR", scratch);
    command.envs(capability.map(|it| (CAPABILITY, it)));
}

#[cfg(test)]
#[path = "inductor_tests.rs"]
mod tests;
