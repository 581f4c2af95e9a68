//! The folders of results: one rule for the benchmarks that write them and for the tools that read them.
//!
//! Criterion's folder is `CRITERION_HOME`, or else `criterion` in the folder that cargo builds in. As in cargo, a relative
//! path begins where cargo, or the tool, was called, and an empty variable is none. Our records lie beside it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// Names criterion's folder, to criterion too.
pub const HOME: &str = "CRITERION_HOME";
/// Name the folders that cargo builds in.
pub const TARGET: [&str; 3] =
    ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_BUILD_DIR"];
/// The folder of records, beside criterion's.
const RECORDS: &str = "criterion-torch";

/// The value of a variable that is not empty.
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Criterion's folder, as `CRITERION_HOME` names it from `here`.
pub fn home(here: &Path) -> Option<PathBuf> {
    variable(HOME).map(|home| plain(&here.join(home)))
}

/// The folder of records beside criterion's, also where that is `.` or ends in `..`.
pub fn records(criterion: &Path) -> PathBuf {
    let is_named = criterion.file_name().is_some();
    let named = || plain(&env::current_dir().unwrap_or_default().join(criterion));
    if is_named { criterion.with_file_name(RECORDS) } else { named().with_file_name(RECORDS) }
}

/// Criterion's folder for a tool that was called in `here`. Where cargo does not say where it builds, the folder is guessed,
/// with the reason.
pub fn of_tool(here: &Path) -> (PathBuf, Option<String>) {
    if let Some(home) = home(here) {
        return (home, None);
    }
    let is_package = here.ancestors().any(|folder| folder.join("Cargo.toml").is_file());
    let asked = if is_package { ask(here, &[]).map(Some) } else { Ok(None) };
    let guess = || {
        let is_root =
            |folder: &&Path| folder.join("Cargo.lock").is_file() || folder.join("target").is_dir();
        let root = here.ancestors().find(is_root).unwrap_or(here);
        variable(TARGET[0]).map_or_else(|| root.join("target"), |target| here.join(target))
    };
    let (target, why) = match asked {
        Ok(Some(cargo)) => (cargo.target, None),
        Ok(None) => (guess(), None),
        Err(why) => (guess(), Some(why)),
    };
    (plain(&target).join("criterion"), why)
}

/// Criterion's folder for the process of a bench target, which cargo starts in the folder of its package.
///
/// # Errors
/// When `program` was started by hand and lies in no folder of cargo's.
pub fn of_bench_target(program: &Path) -> Result<PathBuf, String> {
    let caller =
        Caller::find().map_err(|error| format!("the current folder: {error}; set {HOME}"))?;
    if let Some(home) = home(&caller.folder) {
        return Ok(home);
    }
    let marked = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    let Some(built) = program.ancestors().find(marked) else {
        return Err(format!(
            "{} is not inside a cargo target directory; set {HOME}",
            program.display()
        ));
    };
    caller.target(built).map(|target| plain(&target).join("criterion"))
}

/// The cargo that runs this program, or the person who does.
struct Caller {
    /// The caller's current folder.
    folder: PathBuf,
    /// Its `--config` options, as `cargo metadata` takes them.
    config: Vec<OsString>,
    /// Its `--target-dir`.
    target: Option<OsString>,
    is_cargo: bool,
}

impl Caller {
    fn find() -> io::Result<Self> {
        let cargo = env::var_os("CARGO").and_then(|cargo| fs::canonicalize(cargo).ok());
        if let Some((folder, words)) = cargo.as_deref().and_then(process) {
            let values = |name| values(&words, name);
            let config = values("--config").flat_map(|it| ["--config".into(), it]).collect();
            return Ok(Self {
                folder,
                config,
                target: values("--target-dir").last(),
                is_cargo: true,
            });
        }
        // A shell says where it called cargo.
        let is_cargo = env::var_os("CARGO_MANIFEST_DIR").is_some();
        let shell = variable("PWD").filter(|_| is_cargo).map(PathBuf::from);
        let folder = shell.map_or_else(env::current_dir, Ok)?;
        Ok(Self { folder, config: vec![], target: None, is_cargo })
    }

    /// The target folder of a program that lies in `built`: the same, unless the build folder is another one.
    fn target(&self, built: &Path) -> Result<PathBuf, String> {
        if let Some(target) = variable(TARGET[0]).filter(|_| !self.is_cargo) {
            return Ok(self.folder.join(target));
        }
        let manifest = variable("CARGO_MANIFEST_DIR").map(|it| Path::new(&it).join("Cargo.toml"));
        let mut options = self.config.clone();
        options.extend(
            manifest.map(|it| [OsString::from("--manifest-path"), it.into()]).into_iter().flatten(),
        );
        match ask(&self.folder, &options) {
            Ok(cargo) if cargo.build.as_ref().is_some_and(|it| is_same(it, built)) => {
                let given = self.target.as_ref().map(|it| self.folder.join(it));
                Ok(given.unwrap_or(cargo.target))
            }
            Err(why) if self.is_cargo => Err(format!("{why}; set {HOME}")),
            Ok(_) | Err(_) => Ok(built.to_owned()),
        }
    }
}

/// The nearest process around this one that is `program`: its folder, and its command line.
fn process(program: &Path) -> Option<(PathBuf, Vec<OsString>)> {
    let mut id = "self".to_owned();
    loop {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        id = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().to_owned();
        let place = PathBuf::from(format!("/proc/{id}"));
        if fs::read_link(place.join("exe")).ok()? == program {
            let words = fs::read(place.join("cmdline")).ok()?;
            let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned().into();
            let words = words.split(|byte| *byte == 0).map(word);
            return Some((fs::read_link(place.join("cwd")).ok()?, words.collect()));
        }
    }
}

/// The values of an option among the words of a command line.
fn values(words: &[OsString], name: &str) -> impl Iterator<Item = OsString> {
    let ours = words.iter().map_while(|word| word.to_str()).take_while(|word| *word != "--");
    let ours: Vec<&str> = ours.collect();
    let value = |at: usize| match ours[at].strip_prefix(name)? {
        "" => ours.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    };
    (0..ours.len()).filter_map(value).map(OsString::from).collect::<Vec<_>>().into_iter()
}

/// Cargo's folders.
#[derive(serde::Deserialize)]
struct Cargo {
    #[serde(rename = "target_directory")]
    target: PathBuf,
    /// Versions before 1.91 have no other one.
    #[serde(rename = "build_directory", default)]
    build: Option<PathBuf>,
}

fn ask(folder: &Path, options: &[OsString]) -> Result<Cargo, String> {
    let mut cargo = Command::new(variable("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder).stdin(Stdio::null());
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1"]).args(options);
    let silent = |why: &dyn std::fmt::Display| {
        format!("cargo does not say where it builds {}: {why}", folder.display())
    };
    let output = cargo.output().map_err(|error| silent(&error))?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().filter(|_| !output.status.success());
        first.map_or_else(|| silent(&error), |line| silent(&line))
    })
}

fn is_same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one)
        .ok()
        .is_some_and(|it| fs::canonicalize(other).is_ok_and(|other| it == other))
}

/// The path without `.` and `..`; links to it stay.
fn plain(path: &Path) -> PathBuf {
    let is_up = |component| component == Component::ParentDir;
    if path.components().any(is_up)
        && let Ok(path) = fs::canonicalize(path)
    {
        return path;
    }
    // A folder that does not exist yet has no links.
    let mut plain = PathBuf::new();
    for component in path.components().filter(|it| *it != Component::CurDir) {
        if !is_up(component) {
            plain.push(component);
        } else if !plain.pop() {
            break;
        }
    }
    plain
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
