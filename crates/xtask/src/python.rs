//! python3 and its pip, which fetch wheels from the Python package index.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ask::{Silence, first_line};
use crate::error::{Error, Result};
use ::libtorch::VERSION;

/// What pip is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// As pip reads it: `torch==2.11.0`.
    pub what: String,
    /// Of its wheel for [`WHEELS_OF`] and this platform, where it is known.
    pub sha256: Option<&'static str>,
}

impl From<String> for Requirement {
    fn from(what: String) -> Self {
        Self { what, sha256: None }
    }
}

/// A python3 that can install wheels.
#[derive(Debug, PartialEq, Eq)]
pub struct Python {
    /// "3.11.7"
    pub version: String,
    /// "23.2.1"
    pub pip: String,
}

impl Python {
    /// The python3 on the PATH, or why there is none to use.
    pub fn find() -> Result<Self> {
        let version = python_version().map_err(|why| {
            Error::new(format!(
                "python3 {why}: its pip is what fetches torch {VERSION} from the Python \
                 package index"
            ))
            .remedy("install it, for instance: apt install python3 python3-pip")
        })?;
        let pip = pip_version().map_err(|why| {
            Error::new(format!("python3 ({version}) has no pip ({why})"))
                .remedy("install it: apt install python3-pip, or python3 -m ensurepip")
        })?;
        if two_numbers(&pip).is_some_and(|pip| pip < OLDEST_PIP) {
            return Err(Error::new(format!(
                "pip {pip} is too old for the wheels of torch {VERSION}: wanted {}.{} or newer",
                OLDEST_PIP.0, OLDEST_PIP.1
            ))
            .remedy("update it: python3 -m pip install --user --upgrade pip"));
        }
        Ok(Self { version, pip })
    }

    /// Installs into the folder `into`, which need not be empty, showing pip's own progress. Where the
    /// hash of every wheel is known, pip refuses any other; where one is not, this says so.
    pub fn install(
        &self,
        requirements: &[Requirement],
        with_dependencies: bool,
        into: &Path,
    ) -> Result<()> {
        // pip unpacks in the temporary folder first. /tmp is often memory, and small; and what a
        // killed pip leaves there, nobody would clean up.
        let scratch = into.join(".scratch");
        fs::create_dir_all(&scratch).map_err(|error| Error::io("create", &scratch, &error))?;

        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install"])
            .args(OPTIONS)
            .args((!with_dependencies).then_some("--no-deps"))
            .arg("--target")
            .arg(into);
        // A requirement that is not written down here has no hash, so that its wheel is not known.
        match pinned(requirements).filter(|_| !with_dependencies) {
            Some(text) => {
                let file = scratch.join("requirements.txt");
                fs::write(&file, text).map_err(|error| Error::io("write", &file, &error))?;
                pip.args(["--python-version", WHEELS_OF, "--require-hashes", "-r"]).arg(file);
            }
            None => {
                let words: Vec<&str> = requirements.iter().map(|it| it.what.as_str()).collect();
                let words = words.join(", ");
                let what = if with_dependencies {
                    format!("{words} and what they require")
                } else {
                    words
                };
                eprintln!(
                    "note: not pinned by hash: {what}; pip checks these wheels against the package \
                     index alone"
                );
                pip.args(self.foreign_wheels());
                pip.args(requirements.iter().map(|it| &it.what));
            }
        }
        pip.envs(SETTINGS)
            .env("TMPDIR", &scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::from(io::stderr()));
        let tried: Vec<_> =
            pip.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let tried = tried.join(" ");
        let failed = |how: String| {
            Error::new(format!(
                "{how}\n  tried: python3 {tried} (python {}, pip {})",
                self.version, self.pip
            ))
            .remedy(
                "this needs the Python package index (or the mirror that pip is configured for): \
                 check the network, PIP_INDEX_URL and the proxy, and run this again",
            )
            .remedy("if the disk is full, set CRITERION_TORCH_CACHE to a folder with more room")
        };
        let status =
            pip.status().map_err(|error| failed(format!("cannot run python3: {error}")))?;
        if !status.success() {
            return Err(failed(format!("pip failed ({status}), see its messages above")));
        }
        fs::remove_dir_all(&scratch).map_err(|error| Error::io("remove", &scratch, &error))
    }

    /// A virtual environment in the folder `into`, without a pip of its own; where its packages go.
    ///
    /// # Errors
    /// When torch has no wheels for this python, and whatever `venv` says.
    pub fn environment(&self, into: &Path) -> Result<PathBuf> {
        let Some((major, minor)) = self.minor().filter(|version| WHEELS.contains(version)) else {
            return Err(Error::new(format!(
                "python3 is {}, for which torch {VERSION} has no wheels; wanted 3.10 to 3.14",
                self.version
            )));
        };
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--without-pip"]).arg(into);
        let output = venv
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::new(format!("cannot run python3: {error}")))?;
        if !output.status.success() {
            return Err(Error::new(format!(
                "python3 -m venv failed ({}): {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            ))
            .remedy("install it, for instance: apt install python3-venv"));
        }
        Ok(into.join(format!("lib/python{major}.{minor}/site-packages")))
    }

    /// (3, 11) of 3.11.7.
    pub fn minor(&self) -> Option<(u32, u32)> {
        two_numbers(&self.version)
    }

    /// libtorch does not care for the python that fetches it, but pip picks wheels for its own; where
    /// there is none for it, take those of a python that has them.
    fn foreign_wheels(&self) -> &'static [&'static str] {
        let has_wheels = self.minor().is_some_and(|version| WHEELS.contains(&version));
        if has_wheels { &[] } else { &["--python-version", WHEELS_OF] }
    }
}

/// The lines of a file of requirements, where the hash of every wheel is known.
fn pinned(requirements: &[Requirement]) -> Option<String> {
    let line = |Requirement { what, sha256 }: &Requirement| {
        Some(format!("{what} --hash=sha256:{}\n", (*sha256)?))
    };
    requirements.iter().map(line).collect()
}

/// The python whose wheels are taken where it does not matter whose.
pub const WHEELS_OF: &str = "3.12";

/// 20.3 is the first to know the manylinux_2_28 tag.
const OLDEST_PIP: (u32, u32) = (20, 3);

/// The pythons for which torch 2.11.0 has wheels.
const WHEELS: [(u32, u32); 5] = [(3, 10), (3, 11), (3, 12), (3, 13), (3, 14)];

/// No cache of pip's own, as it would keep the 540 MB wheel a second time.
const OPTIONS: [&str; 5] = [
    "--no-input",
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--no-warn-script-location",
    "--only-binary=:all:",
];

/// As variables, where older pips refuse the option or a user's configuration must be overruled:
/// `user` and `require-virtualenv` both contradict `--target`. (An externally managed python, PEP 668,
/// does not: pip allows `--target` there.)
const SETTINGS: [(&str, &str); 3] =
    [("PIP_ROOT_USER_ACTION", "ignore"), ("PIP_USER", "0"), ("PIP_REQUIRE_VIRTUALENV", "0")];

/// "3.11.7", or why it is not known.
pub fn python_version() -> std::result::Result<String, Silence> {
    let line = python_says(&["--version"])?;
    line.strip_prefix("Python ").map(str::to_owned).ok_or_else(|| unclear(&line))
}

/// "23.2.1", or why it is not known.
pub fn pip_version() -> std::result::Result<String, Silence> {
    let line = python_says(&["-m", "pip", "--version"])?;
    line.split_whitespace().nth(1).map(str::to_owned).ok_or_else(|| unclear(&line))
}

fn python_says(arguments: &[&str]) -> std::result::Result<String, Silence> {
    let mut python = Command::new("python3");
    python.args(arguments);
    first_line(python)
}

fn unclear(line: &str) -> Silence {
    Silence::Other(format!("names no version: \"{line}\""))
}

fn two_numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(two_numbers("3.9.18"), Some((3, 9)));
        assert_eq!(two_numbers("26.0"), Some((26, 0)));
        assert_eq!(two_numbers("3"), None);
        for (pip, old) in [("9.0.3", true), ("20.0.2", true), ("20.3", false), ("23.2.1", false)] {
            assert_eq!(two_numbers(pip).expect("two numbers") < OLDEST_PIP, old, "{pip}");
        }
    }

    #[test]
    fn one_wheel_without_a_hash_leaves_all_unpinned() {
        let known = |what: &str| Requirement { what: what.into(), sha256: Some("00ff") };
        let text = pinned(&[known("a==1"), known("b==2")]);
        assert_eq!(text.as_deref(), Some("a==1 --hash=sha256:00ff\nb==2 --hash=sha256:00ff\n"));
        assert_eq!(pinned(&[known("a==1"), Requirement::from("b==2".to_owned())]), None);
    }

    #[test]
    fn a_python_without_wheels_takes_those_of_another() {
        for (version, foreign) in
            [("3.9.2", true), ("3.10.0", false), ("3.14.1", false), ("3.15.0a1", true)]
        {
            let python = Python { version: version.into(), pip: "24.0".into() };
            assert_eq!(!python.foreign_wheels().is_empty(), foreign, "{version}");
        }
    }
}
