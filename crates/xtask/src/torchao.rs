//! A Python that has torchao and its torch: the user's own, or one in the cache.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::flavour::Flavour;
use crate::lock::Lock;
use crate::partial::{self, Partial};
use crate::python::Python;
use crate::setup;
use ::libtorch::{PYTHON, TORCHAO, VERSION, release};

/// The Python that is `chosen`, that SELF_TEST_PYTHON names, or that lies in the cache: provisioned
/// if there is none yet.
pub fn python(chosen: Option<PathBuf>) -> Result<PathBuf> {
    let named = |value: &OsString| !value.is_empty();
    let (python, by) = match (chosen, std::env::var_os(PYTHON).filter(named)) {
        (Some(python), _) => (python, "--python"),
        (None, Some(python)) => (PathBuf::from(python), PYTHON),
        (None, None) => return provisioned(),
    };
    check(&python).map_err(|why| {
        Error::new(format!("{by}: {} cannot be used: {why}", python.display()))
            .remedy(format!("leave out --python and unset {PYTHON}, and one is provisioned"))
            .remedy(format!("or have it: pip install torch=={VERSION} torchao=={TORCHAO}"))
    })?;
    Ok(python)
}

fn provisioned() -> Result<PathBuf> {
    let cache = Cache::of_environment()?;
    let python = Python::find().map_err(use_your_own)?;
    let place = cache.torchao(python.minor().unwrap_or_default());
    if is_there(&place)? {
        return Ok(interpreter(&place));
    }
    cache.create()?;
    let lock = Lock::wait(&cache)?;
    // Another process may have done it while this one waited.
    if !is_there(&place)? {
        setup::sweep(&cache, &lock);
        install(&python, &place).map_err(use_your_own)?;
    }
    Ok(interpreter(&place))
}

/// Whether both releases are in the folder. That they are, and do not work, is an error: perhaps for
/// the moment only (no memory, say), and no reason to download them again.
fn is_there(place: &Path) -> Result<bool> {
    match check(&interpreter(place)) {
        Ok(()) => Ok(true),
        Err(Unfit::Lacking(_)) => Ok(false),
        Err(Unfit::Broken(why)) => {
            let place = place.display();
            let error = Error::new(format!("torchao in {place} cannot be used: {why}"))
                .remedy("run this again, if that may pass")
                .remedy(format!("or have it installed again: rm -r {place}"));
            Err(use_your_own(error))
        }
    }
}

fn install(python: &Python, place: &Path) -> Result<()> {
    if place.exists() {
        eprintln!("{} has not both releases, installing them again", place.display());
        partial::remove_broken(place)?;
    }
    eprintln!(
        "installing torchao {TORCHAO} and torch {VERSION} for Python from the Python package index: \
         {}, once for all clones, in {}",
        download(),
        place.display()
    );
    let partial = Partial::beside(place)?;
    let packages = python.environment(partial.dir())?;
    fs::create_dir_all(&packages).map_err(|error| Error::io("create", &packages, &error))?;
    let requirements = [format!("torch=={VERSION}"), format!("torchao=={TORCHAO}"), "numpy".into()];
    python.install(&requirements, true, &packages)?;
    check(&interpreter(partial.dir())).map_err(|why| {
        Error::new(format!("pip succeeded, but what it installed cannot be used: {why}"))
    })?;
    if !partial.move_to(place)? {
        eprintln!("another process was faster, using what it installed");
    }
    Ok(())
}

/// On Linux torch's wheel brings CUDA along, whether the machine has a use for it or not.
fn download() -> &'static str {
    if cfg!(target_os = "linux") { Flavour::Cuda.download() } else { Flavour::Cpu.download() }
}

fn interpreter(place: &Path) -> PathBuf {
    place.join("bin/python")
}

fn use_your_own(error: Error) -> Error {
    error.remedy(format!(
        "or name a Python that has torch {VERSION} and torchao {TORCHAO}: --python /path/to/it"
    ))
}

/// Why a Python will not do.
#[derive(Debug, PartialEq, Eq)]
enum Unfit {
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
fn check(python: &Path) -> std::result::Result<(), Unfit> {
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

/// From how Python ended and the last line that it said.
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

    #[test]
    fn the_help_names_the_release() {
        assert!(crate::help::COMPARE_TORCHAO.contains(&format!("torchao {TORCHAO}'s own")));
    }
}
