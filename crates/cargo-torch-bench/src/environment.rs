//! The Python in the cache, made once per user: torch, which compiles; torchao, for comparisons; Triton.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::files;
use crate::flavour::Flavour;
use crate::human;
use crate::python::Python;
use crate::setup;
use crate::template;
use ::libtorch::{
    COMPILER_PYTHON, PythonSource, TORCHAO, TRITON, VERSION, compiler_python, interpreter, release,
};

/// The wheels for every Python, with their hashes. CONTRIBUTING.md says how the file is made.
const REQUIREMENTS: &str = include_str!("../requirements/python.txt");

/// `cargo xtask setup --python`: provisions it, and says in one line where it is.
pub fn command() -> Result<ExitCode> {
    let python = provision().map_err(|error| {
        error.remedy(format!(
            "or name a Python that has torch {VERSION}, for compiled variants, and triton \
             {TRITON}, for Triton kernels: export {COMPILER_PYTHON}=/path/to/it"
        ))
    })?;
    let place = python.ancestors().nth(2).unwrap_or(&python);
    let bytes = files::on_disk(place).map_err(|error| Error::io("measure", place, &error))?;
    println!(
        "python with torch {VERSION}, torchao {TORCHAO} in {}, {}, for compiled variants, Triton \
         kernels and compare-torchao",
        place.display(),
        human::bytes(bytes)
    );
    let (chosen, by) = compiler_python(|name| std::env::var_os(name));
    if by == PythonSource::Variable {
        eprintln!("note: {by} is set, so {} is what compiles", chosen.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// `cargo xtask python`: the path of the Python that compiles, or its name on the PATH.
pub fn print() -> ExitCode {
    let (python, _) = compiler_python(|name| std::env::var_os(name));
    println!("{}", python.display());
    ExitCode::SUCCESS
}

/// The interpreter in the cache, with torch and torchao: installed if it is not there yet.
pub fn provision() -> Result<PathBuf> {
    let cache = Cache::of_environment()?;
    let python = Python::find()?;
    let place = cache.environment(python.minor().unwrap_or_default());
    if let Some(interpreter) = found(&place)? {
        return Ok(interpreter);
    }
    let what = format!(
        "torchao {TORCHAO} and torch {VERSION} for Python from the Python package index: {}",
        download()
    );
    let fault = "lacks one of the two releases, installing both again";
    setup::install(
        &cache,
        &place,
        &what,
        fault,
        || found(&place),
        |into| {
            let packages = python.environment(into)?;
            files::make_folder(&packages)?;
            python.install(REQUIREMENTS, &[], &packages)?;
            check(&interpreter(into)).map_err(|why| {
                Error::new(format!("pip succeeded, but what it installed cannot be used: {why}"))
            })
        },
    )
}

/// The interpreter, if both releases are in the folder. That they are, and do not work, is an error: perhaps for
/// the moment only (no memory, say), and no reason to download them again.
fn found(place: &Path) -> Result<Option<PathBuf>> {
    match check(&interpreter(place)) {
        Ok(()) => Ok(Some(interpreter(place))),
        Err(Unfit::Lacking(_)) => Ok(None),
        Err(Unfit::Broken(why)) => {
            let (shown, place) = (place.display(), template::path(place));
            Err(Error::new(format!("torch and torchao in {shown} cannot be used: {why}"))
                .remedy("run this again if the cause may be temporary")
                .remedy(format!("or have them installed again: rm -r {place}")))
        }
    }
}

/// Measured on x86_64. On Linux torch's wheel brings CUDA along, whether the machine has a use for
/// it or not: libtorch_cuda, without which torch cannot be imported, loads most of it.
fn download() -> &'static str {
    if cfg!(target_os = "linux") {
        "2.7 GB to download, 5.0 GB kept, about two minutes"
    } else {
        Flavour::Cpu.download()
    }
}

/// Why a Python will not do.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is not there, or has not both releases.
    Lacking(String),
    /// Something else went wrong.
    Broken(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Lacking(why) | Self::Broken(why)) = self;
        f.write_str(why)
    }
}

/// Has the Python import both; why it will not do, if so.
pub fn check(python: &Path) -> std::result::Result<(), Unfit> {
    const CODE: &str = "import torch, torchao; print(torch.__version__, torchao.__version__)";
    let output = Command::new(python)
        .args(["-W", "ignore", "-c", CODE])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => Unfit::Lacking(error.to_string()),
            _ => Unfit::Broken(error.to_string()),
        })?;
    if output.status.success() {
        return versions(&String::from_utf8_lossy(&output.stdout));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failure(&output.status.to_string(), said.trim().lines().last().unwrap_or_default()))
}

/// Judges by how Python ended and by the last line that it said.
fn failure(status: &str, last: &str) -> Unfit {
    let lacks = |name| last == format!("ModuleNotFoundError: No module named '{name}'");
    let kind = if lacks("torch") || lacks("torchao") { Unfit::Lacking } else { Unfit::Broken };
    kind(format!("{status}: {last}"))
}

/// "2.11.0+cu130 0.17.0", whatever was printed before it.
fn versions(printed: &str) -> std::result::Result<(), Unfit> {
    let line = printed.trim().lines().last().unwrap_or_default();
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        [torch, torchao] if release(torch) == VERSION && release(torchao) == TORCHAO => Ok(()),
        [torch, torchao] => Err(Unfit::Lacking(format!(
            "it has torch {torch} and torchao {torchao}, wanted {VERSION} and {TORCHAO}"
        ))),
        _ => Err(Unfit::Broken(format!("it does not say which versions it has: \"{line}\""))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_have_to_be_right_and_their_builds_may_differ() {
        for text in ["2.11.0 0.17.0\n", "2.11.0+cu130 0.17.0+cpu\n", "a warning\n2.11.0 0.17.0"] {
            assert_eq!(versions(text), Ok(()), "{text}");
        }
        for (text, why) in [
            ("2.11.0 0.14.1", "it has torch 2.11.0 and torchao 0.14.1, wanted 2.11.0 and 0.17.0"),
            ("2.12.0 0.17.0", "it has torch 2.12.0 and torchao 0.17.0, wanted 2.11.0 and 0.17.0"),
        ] {
            assert_eq!(versions(text), Err(Unfit::Lacking(why.to_owned())));
        }
        let silent = "it does not say which versions it has: \"\"";
        assert_eq!(versions(""), Err(Unfit::Broken(silent.to_owned())));
    }

    #[test]
    fn only_a_missing_package_is_lacking() {
        for (last, lacking) in [
            ("ModuleNotFoundError: No module named 'torchao'", true),
            ("ModuleNotFoundError: No module named 'torch'", true),
            ("ModuleNotFoundError: No module named 'sympy'", false),
            ("OSError: libtorch_cpu.so: failed to map segment from shared object", false),
            ("", false),
        ] {
            let found = failure("exit status: 1", last);
            assert_eq!(matches!(found, Unfit::Lacking(_)), lacking, "{last}");
            assert_eq!(found.to_string(), format!("exit status: 1: {last}"));
        }
    }
}
