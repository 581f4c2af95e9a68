//! What torch.compile made: `<cache>/compiled/<key>/{package.pt2, facts.json}`.
//!
//! The library owns the folder and keeps its bound; here it is looked at and cleared. A key's lock,
//! `<key>.lock`, is held by whoever compiles it, into `<key>.partial-<random>`, until the folder
//! appears by one rename.

use std::cmp::Reverse;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::found::{self, Found};
use crate::age;
use crate::error::{Error, Result};
use crate::json::Json;
use crate::partial::{self, PARTIAL};

/// One package, whole.
#[derive(Debug)]
pub struct Package {
    pub found: Found,
    /// As facts.json has them; none where it is not there or not what it should be.
    pub facts: Option<Facts>,
}

/// What is shown of how a package was compiled.
#[derive(Debug, PartialEq)]
pub struct Facts {
    pub mode: String,
    pub compiler: String,
    /// That the compilation took.
    pub seconds: f64,
}

#[derive(Debug, Default)]
pub struct Compiled {
    /// The one used last first.
    pub packages: Vec<Package>,
    /// Being compiled, or left by a process that ended while it compiled.
    pub partials: Vec<Found>,
}

impl Compiled {
    pub fn read(folder: &Path) -> Result<Self> {
        let mut compiled = Self::default();
        for found in found::entries(folder)? {
            if !found.path.is_dir() {
                // A lock, or another small file of the library's own.
                continue;
            }
            if partial::is_partial(&found.path) {
                compiled.partials.push(found);
            } else {
                let facts = Facts::read(&found.path);
                compiled.packages.push(Package { found, facts });
            }
        }
        compiled.packages.sort_by_key(|package| Reverse(package.found.used));
        Ok(compiled)
    }
}

impl Facts {
    fn read(package: &Path) -> Option<Self> {
        let facts = Json::parse(&fs::read_to_string(package.join("facts.json")).ok()?)?;
        let text = |name: &str| facts.get(name)?.text().map(str::to_owned);
        Some(Self {
            mode: text("mode")?,
            compiler: text("compiler")?,
            seconds: facts.get("seconds")?.number()?,
        })
    }
}

/// How long a partial folder stays whose lock tells nothing. No compilation is let run for so long.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// Takes a folder away, whole or partial. False if it stays because something may be at work on it.
/// A whole one is renamed first: no process finds one that is half removed, and one that has opened
/// the package reads it to its end.
pub fn remove(found: &Found, now: SystemTime) -> Result<bool> {
    let path = &found.path;
    let is_partial = partial::is_partial(path);
    // Held until the folder is gone.
    let lock = lock(path);
    let is_busy = match &lock {
        Some(Ok(_)) => false,
        Some(Err(TryLockError::WouldBlock)) => true,
        // No lock, or a file system that knows none.
        None | Some(Err(TryLockError::Error(_))) => {
            is_partial && age::since(found.used, now) < PATIENCE
        }
    };
    if is_busy {
        return Ok(false);
    }
    if is_partial {
        return partial::remove(path).map(|()| true);
    }
    let mut aside = path.clone().into_os_string();
    aside.push(format!("{PARTIAL}{:016x}", RandomState::new().hash_one(path)));
    let aside = PathBuf::from(aside);
    match fs::rename(path, &aside) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io("move away", path, &error)),
        Ok(()) => partial::remove(&aside).map(|()| true),
    }
}

/// The lock of the key, if there is a file for it: held, or why not.
fn lock(path: &Path) -> Option<std::result::Result<File, TryLockError>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let key = name.split(PARTIAL).next().unwrap_or_default();
    let path = path.with_file_name(format!("{key}.lock"));
    let file = File::options().read(true).write(true).open(path).ok()?;
    Some(file.try_lock().map(|()| file))
}
