//! python3 and its pip, which fetch wheels from the Python package index.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ask::{ProbeError, first_line};
use crate::error::{Error, Result};
use ::libtorch::VERSION;

/// Options that take the wheels of one Python, whichever fetches them: libtorch needs none. Without the second, pip
/// compares what a wheel requires with the Python that runs it. (It does so with markers in any case.)
pub const WHEELS_OF_ANY: &[&str] = &["--python-version", "3.12", "--ignore-requires-python"];

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

    /// Installs what the text of a requirements file lists, and nothing else, into the folder `into`, which need not be
    /// empty, showing pip's own progress. pip refuses a line without a hash, and a wheel with another one.
    pub fn install(&self, requirements: &str, options: &[&str], into: &Path) -> Result<()> {
        // pip unpacks in the temporary folder first. /tmp is often memory, and small; and what a
        // killed pip leaves there, nobody would clean up.
        let scratch = into.join(".scratch");
        fs::create_dir_all(&scratch).map_err(|error| Error::io("create", &scratch, &error))?;
        let file = scratch.join("requirements.txt");
        fs::write(&file, requirements).map_err(|error| Error::io("write", &file, &error))?;

        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install"]).args(OPTIONS).args(options);
        pip.arg("--target").arg(into).arg("-r").arg(&file);
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
            .remedy(
                "if pip says that hashes do not match, PIP_INDEX_URL or PIP_FIND_LINKS leads to \
                 other wheels than those of the Python package index: unset it",
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
}

/// 20.3 is the first to know the manylinux_2_28 tag; two versions later it also names the tags of Python 3.12 rightly.
const OLDEST_PIP: (u32, u32) = (20, 3);

/// The pythons for which torch [`VERSION`] has wheels.
const WHEELS: [(u32, u32); 5] = [(3, 10), (3, 11), (3, 12), (3, 13), (3, 14)];

/// No cache of pip's own, as it would keep the 540 MB wheel a second time.
const OPTIONS: [&str; 7] = [
    "--no-input",
    "--no-cache-dir",
    "--disable-pip-version-check",
    "--no-warn-script-location",
    "--only-binary=:all:",
    "--no-deps",
    "--require-hashes",
];

/// As variables, where older pips refuse the option or a user's configuration must be overruled:
/// `user` and `require-virtualenv` both contradict `--target`. (An externally managed python, PEP 668,
/// does not: pip allows `--target` there.)
const SETTINGS: [(&str, &str); 3] =
    [("PIP_ROOT_USER_ACTION", "ignore"), ("PIP_USER", "0"), ("PIP_REQUIRE_VIRTUALENV", "0")];

/// "3.11.7", or why it is not known.
pub fn python_version() -> std::result::Result<String, ProbeError> {
    let line = first_line("python3", ["--version"])?;
    line.strip_prefix("Python ").map(str::to_owned).ok_or_else(|| unclear(&line))
}

/// "23.2.1", or why it is not known.
pub fn pip_version() -> std::result::Result<String, ProbeError> {
    let line = first_line("python3", ["-m", "pip", "--version"])?;
    line.split_whitespace().nth(1).map(str::to_owned).ok_or_else(|| unclear(&line))
}

fn unclear(line: &str) -> ProbeError {
    ProbeError::Other(format!("names no version: \"{line}\""))
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

    /// Two wheels of one file, made by Python's own zip: one for any Python, one for none yet. Prints the hash of each.
    const MAKE_WHEELS: &str = r#"
import hashlib, sys, zipfile
for name, python in ("tiny", ">=3"), ("future", ">=99"):
    path, info = f"{sys.argv[1]}/{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info/"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Python: {python}\n"
        wheel.writestr(info + "METADATA", metadata + "Requires-Dist: unlisted\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(info + "RECORD", "")
    print(hashlib.sha256(open(path, "rb").read()).hexdigest(), end=" ")
"#;

    #[test]
    fn a_wheel_is_installed_by_its_hash_alone() {
        let python = match Python::find() {
            Ok(python) => python,
            Err(error) => return crate::skip::tool(error.what()),
        };
        let root = std::env::temp_dir().join(format!("xtask-wheel-{}", std::process::id()));
        fs::create_dir_all(&root).expect("make a scratch folder");
        let make = ["-c".as_ref(), MAKE_WHEELS.as_ref(), root.as_os_str()];
        let hashes = first_line("python3", make).expect("make two wheels");
        let (tiny, future) = hashes.split_once(' ').expect("two hashes");
        let pin = |hash: &str| format!(" --hash=sha256:{hash}");
        let other = pin(&"0".repeat(64));
        for (case, name, pins, options, installed) in [
            ("right", "tiny", other.clone() + &pin(tiny), &[][..], true),
            ("another wheel's", "tiny", other + &pin(future), &[], false),
            ("none", "tiny", String::new(), &[], false),
            ("not for this python", "future", pin(future), &[], false),
            ("not for this python, of any", "future", pin(future), WHEELS_OF_ANY, true),
        ] {
            let into = root.join(case);
            let links = root.display();
            let text = format!("--no-index\n--find-links {links}\n{name}==1.0{pins}\n");
            let done = python.install(&text, options, &into);
            assert_eq!(done.is_ok(), installed, "{case}: {done:?}");
            assert_eq!(into.join(name).with_extension("py").exists(), installed, "{case}");
        }
        fs::remove_dir_all(&root).expect("remove the scratch folder");
    }
}
