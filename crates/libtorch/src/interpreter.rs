//! The Python that runs our programs, and its packages.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::child::{Patience, Program, RunError};
use crate::{PythonSource, compiler_python};

/// Prints a package's version; nothing where there is none. It is not imported: that takes longer.
const VERSION: &str = "import importlib.metadata as packages
try:
    print(packages.version('PACKAGE'))
except packages.PackageNotFoundError:
    pass";

/// Reading metadata takes a tenth of a second.
const PATIENCE: Patience =
    Patience { quiet: Some(Duration::from_secs(5)), limit: Duration::from_secs(300) };

/// A Python, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    program: PathBuf,
    chosen: PythonSource,
}

impl Interpreter {
    /// The Python that compiles ([`compiler_python`]). Looked for once.
    pub fn compiling() -> &'static Self {
        static FOUND: OnceLock<Interpreter> = OnceLock::new();
        FOUND.get_or_init(|| Self::from_variables(|name| std::env::var_os(name)))
    }

    /// As [`compiling`](Self::compiling), for these variables.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let (program, chosen) = compiler_python(variable);
        Self { program, chosen }
    }

    /// The one that CRITERION_TORCH_PYTHON would name.
    pub fn named(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), chosen: PythonSource::Variable }
    }

    /// Its path, or its name on the PATH.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Demands a release of a package; the builds of it may differ.
    ///
    /// # Errors
    /// A missing package, another release of it, or no Python: which Python, why, and the remedy.
    pub fn demand(&self, package: &str, release: &str, remedy: &str) -> Result<(), String> {
        let shown = format!("{}, of {}", self.program.display(), self.chosen);
        let unfit = |why: String| format!("{shown}{why}; {remedy}");
        let what = &format!("asking for the version of {package}");
        let script = &VERSION.replace("PACKAGE", package);
        let program = Program { interpreter: &self.program, script, what, patience: PATIENCE };
        let output = program.output(b"", |_| ()).map_err(|error| match error {
            RunError::Start(error) => unfit(format!(": {error}")),
            RunError::Failed(text) | RunError::Hung(text) => {
                unfit(format!(", does not run: {text}"))
            }
        })?;
        let version = String::from_utf8_lossy(&output).trim().to_owned();
        if version.is_empty() {
            return Err(unfit(format!(", has no {package}")));
        }
        if crate::release(&version) != release {
            return Err(unfit(format!(", has {package} {version}")));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "interpreter_tests.rs"]
mod tests;
