//! The Python that compiles: for compiled variants with its torch, for Triton kernels with its Triton.
//! None runs while something is measured.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{TORCHAO, cache_dir, command};

/// The environment variable that names the Python that compiles.
pub const COMPILER_PYTHON: &str = "CRITERION_TORCH_PYTHON";

/// The way in which a Python was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PythonSource {
    /// [`COMPILER_PYTHON`].
    Variable,
    /// It is the one in the cache, of `cargo torch-bench setup --python`.
    Provisioned,
    /// Nobody: python3, wherever the PATH has it.
    Path,
}

impl fmt::Display for PythonSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable => f.write_str(COMPILER_PYTHON),
            Self::Provisioned => f.write_str(&command::with_arguments("setup --python")),
            Self::Path => f.write_str("the PATH"),
        }
    }
}

/// The Python that compiles, and who chose it: [`COMPILER_PYTHON`], else the provisioned one (of
/// several that of the newest Python), else python3. Whether it has what compiling takes is not
/// asked.
pub fn compiler_python(variable: impl Fn(&str) -> Option<OsString>) -> (PathBuf, PythonSource) {
    if let Some(named) = variable(COMPILER_PYTHON).filter(|value| !value.is_empty()) {
        return (PathBuf::from(named), PythonSource::Variable);
    }
    match cache_dir(variable).and_then(|cache| provisioned(&cache)) {
        Some(python) => (python, PythonSource::Provisioned),
        None => (PathBuf::from("python3"), PythonSource::Path),
    }
}

/// The folder of a cache that holds torch and torchao, once they are whole, for Python `major.minor`.
pub fn environment(cache: &Path, (major, minor): (u32, u32)) -> PathBuf {
    cache.join(format!("{}{major}.{minor}", prefix()))
}

/// The interpreter of an environment.
pub fn interpreter(environment: &Path) -> PathBuf {
    environment.join("bin/python")
}

fn prefix() -> String {
    format!("torchao-{TORCHAO}-python")
}

fn provisioned(cache: &Path) -> Option<PathBuf> {
    // A cache that is not there, or not to be read, has none.
    fs::read_dir(cache)
        .ok()?
        .filter_map(|entry| minor(&entry.ok()?.file_name().to_string_lossy()))
        .map(|version| (version, interpreter(&environment(cache, version))))
        // A link to nowhere where its python3 has been removed since.
        .filter(|(_, python)| python.exists())
        .max()
        .map(|(_, python)| python)
}

/// (3, 11) of "torchao-0.17.0-python3.11"; None of an installation in progress.
fn minor(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix(&prefix())?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_for_which_python_an_environment_is() {
        for version in [(3, 10), (3, 9), (4, 0)] {
            let place = environment(Path::new("/cache"), version);
            let name = place.file_name().expect("it has a name").to_string_lossy().into_owned();
            assert_eq!(minor(&name), Some(version));
            assert_eq!(minor(&format!("{name}.partial-17")), None);
        }
        assert_eq!(minor("torchao-0.16.0-python3.11"), None);
        assert_eq!(minor("torch-2.11.0-cpu"), None);
    }

    #[test]
    fn the_variable_decides_then_the_newest_environment_then_the_path() {
        let cache = std::env::temp_dir().join(format!("libtorch-python-{}", std::process::id()));
        let chosen = |named: &str| {
            compiler_python(|name| match name {
                COMPILER_PYTHON => Some(named.into()),
                "CRITERION_TORCH_CACHE" => Some(cache.clone().into()),
                _ => None,
            })
        };
        let nobody = (PathBuf::from("python3"), PythonSource::Path);
        assert_eq!(chosen(""), nobody, "there is no cache yet");
        assert_eq!(chosen("/own/python"), (PathBuf::from("/own/python"), PythonSource::Variable));

        for (version, whole) in [((3, 9), true), ((3, 11), true), ((3, 12), false)] {
            let python = interpreter(&environment(&cache, version));
            fs::create_dir_all(python.parent().expect("bin")).expect("make a scratch folder");
            if whole {
                fs::write(python, "elf").expect("write a scratch file");
            }
        }
        let newest = interpreter(&environment(&cache, (3, 11)));
        assert_eq!(chosen(""), (newest, PythonSource::Provisioned));
        fs::remove_dir_all(&cache).expect("remove the scratch folder");
    }
}
