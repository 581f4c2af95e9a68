//! A Python that has torchao and its torch: the user's own, or one in the cache.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::Cache;
use crate::cargo::PYTHON;
use crate::error::{Error, Result};
use crate::flavour::Flavour;
use crate::lock::Lock;
use crate::partial::{self, Partial};
use crate::python::Python;
use crate::setup;
use ::libtorch::VERSION;

/// The release that ours is compared with.
const TORCHAO: &str = "0.17.0";

/// The Python that is `chosen`, that CALIBRATION_PYTHON names, or that lies in the cache: provisioned
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
    let place = cache.torchao(TORCHAO, python.minor().unwrap_or_default());
    if place.exists() && check(&interpreter(&place)).is_ok() {
        return Ok(interpreter(&place));
    }
    cache.create()?;
    let lock = Lock::wait(&cache)?;
    // Another process may have done it while this one waited.
    if !place.exists() || check(&interpreter(&place)).is_err() {
        setup::sweep(&cache, &lock);
        install(&python, &place).map_err(use_your_own)?;
    }
    Ok(interpreter(&place))
}

fn install(python: &Python, place: &Path) -> Result<()> {
    if place.exists() {
        eprintln!("{} is damaged, installing it again", place.display());
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

/// Has the Python import both; why it will not do, if so.
fn check(python: &Path) -> std::result::Result<(), String> {
    const CODE: &str = "import torch, torchao; print(torch.__version__, torchao.__version__)";
    let output = Command::new(python)
        .args(["-W", "ignore", "-c", CODE])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim().lines().last().unwrap_or_default();
        return Err(format!("{}: {last}", output.status));
    }
    versions(&String::from_utf8_lossy(&output.stdout))
}

/// "2.11.0+cu130 0.17.0", whatever was printed before it.
fn versions(printed: &str) -> std::result::Result<(), String> {
    let line = printed.trim().lines().last().unwrap_or_default();
    let release = |version: &str| version.split('+').next().unwrap_or_default().to_owned();
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        [torch, torchao] if release(torch) == VERSION && release(torchao) == TORCHAO => Ok(()),
        [torch, torchao] => Err(format!(
            "it has torch {torch} and torchao {torchao}, wanted {VERSION} and {TORCHAO}"
        )),
        _ => Err(format!("it does not say which versions it has: \"{line}\"")),
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
            ("", "it does not say which versions it has: \"\""),
        ] {
            assert_eq!(versions(text), Err(why.to_owned()));
        }
    }
}
