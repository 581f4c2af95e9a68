//! Which Python runs the programs, and what it has.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::child::{Patience, Program, RunError};
use crate::refusal::Refusal;

/// Where a user says which Python it is.
pub const VARIABLE: &str = "CRITERION_TORCH_PYTHON";

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
    by: &'static str,
}

/// The Python that CRITERION_TORCH_PYTHON names; else the one that was provisioned beside libtorch;
/// else python3 on the PATH. Looked for once.
pub fn interpreter() -> &'static Interpreter {
    static FOUND: OnceLock<Interpreter> = OnceLock::new();
    FOUND.get_or_init(|| {
        let cache = ::libtorch::cache_dir(|name| std::env::var_os(name));
        Interpreter::find(std::env::var_os(VARIABLE), cache.as_deref())
    })
}

impl Interpreter {
    /// As [`interpreter`], for this value of the variable and this cache folder.
    pub fn find(variable: Option<OsString>, cache: Option<&Path>) -> Self {
        if let Some(chosen) = variable.filter(|value| !value.is_empty()) {
            return Self { program: chosen.into(), by: VARIABLE };
        }
        match cache.and_then(provisioned) {
            Some(program) => Self { program, by: "the cache" },
            None => Self { program: "python3".into(), by: "the PATH" },
        }
    }

    /// Its path, or its name on the PATH.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Demands a release of a package; the builds of it may differ.
    ///
    /// # Errors
    /// Skipped, with the remedy, where it is another release or not there, or where no Python is.
    pub fn demand(&self, package: &str, release: &str, remedy: &str) -> Result<(), Refusal> {
        let shown = format!("{}, of {}", self.program.display(), self.by);
        let skipped = |why: String| Refusal::Skipped(format!("{shown}{why}; {remedy}"));
        let what = &format!("asking for the version of {package}");
        let script = &VERSION.replace("PACKAGE", package);
        let program = Program { interpreter: &self.program, script, what, patience: PATIENCE };
        let output = program.output(b"", |_| ()).map_err(|error| match error {
            RunError::Start(error) => skipped(format!(": {error}")),
            RunError::Failed(text) | RunError::Hung(text) => {
                skipped(format!(", does not run: {text}"))
            }
        })?;
        let version = String::from_utf8_lossy(&output).trim().to_owned();
        if version.is_empty() {
            return Err(skipped(format!(", has no {package}")));
        }
        if ::libtorch::release(&version) != release {
            return Err(skipped(format!(", has {package} {version}")));
        }
        Ok(())
    }
}

/// The newest Python in the cache that has torch.
fn provisioned(cache: &Path) -> Option<PathBuf> {
    let prefix = format!("torchao-{}-python3.", ::libtorch::TORCHAO);
    // A folder that is being installed, or was left by an interrupted installation, has a longer name.
    let minor = |name: OsString| name.to_str()?.strip_prefix(&prefix)?.parse::<u32>().ok();
    let folders = std::fs::read_dir(cache).ok()?.flatten();
    let minors = folders.filter_map(|folder| minor(folder.file_name()));
    let python = |minor: u32| cache.join(format!("{prefix}{minor}/bin/python"));
    minors.filter(|minor| python(*minor).is_file()).max().map(python)
}

#[cfg(test)]
#[path = "interpreter_tests.rs"]
mod tests;
