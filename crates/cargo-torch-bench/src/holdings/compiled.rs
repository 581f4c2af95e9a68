//! What torch.compile made: `<cache>/compiled/<key>/{package.pt2, facts.json}`.
//!
//! The library owns the folder and keeps its bound (`src/compile/store.rs`); here it is looked at and
//! cleared by the same rules. Who makes a package holds `<key>.lock`, into `<key>.partial-<random>`,
//! until the folder appears by one rename; the file is there for so long only. Who uses one holds its
//! facts.json, shared.

use std::cmp::Reverse;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::found::{self, Found};
use crate::age;
use crate::error::{Error, Result};
use crate::partial::{self, PARTIAL};

const FACTS: &str = "facts.json";

/// One package, whole.
#[derive(Debug)]
pub struct Package {
    pub found: Found,
    /// None where facts.json is not there or not what it should be.
    pub facts: Option<Facts>,
}

/// What is shown of how a package was compiled.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub mode: String,
    pub compiler: String,
    /// Seconds that the compilation took.
    pub seconds: f64,
}

#[derive(Debug, Default)]
pub struct Compiled {
    /// The one used last first.
    pub packages: Vec<Package>,
    /// Being compiled or removed, or left by a process that ended meanwhile.
    pub partials: Vec<Found>,
}

impl Compiled {
    pub fn read(folder: &Path) -> Result<Self> {
        let mut compiled = Self::default();
        for found in found::entries(folder)? {
            let name = found.name();
            let mut parts = name.split(PARTIAL);
            // Locks, and what else the library keeps beside its packages.
            if !found.path.is_dir() || !parts.next().is_some_and(is_key) {
                continue;
            }
            if parts.next().is_some() {
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

/// Whether a name is that of a package: 128 bits in hexadecimal digits.
fn is_key(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

impl Facts {
    fn read(package: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct File {
            compilation: Facts,
        }
        let text = fs::read_to_string(package.join(FACTS)).ok()?;
        serde_json::from_str(&text).ok().map(|File { compilation }| compilation)
    }
}

/// Takes a package away. False if it stays because a process uses it. Renamed first: no process finds
/// one that is half removed.
pub fn remove_package(found: &Found, _: SystemTime) -> Result<bool> {
    let path = &found.path;
    // Held until the folder is gone.
    let _facts = match hold(&path.join(FACTS)) {
        Hold::Busy => return Ok(false),
        Hold::Free(file) => file,
    };
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

/// How long a partial folder stays whose lock tells nothing. No compilation is let run for so long.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// Takes a partial folder away. False if it stays because a process is making a package of its key.
pub fn remove_partial(found: &Found, now: SystemTime) -> Result<bool> {
    let name = found.name();
    let key = name.split(PARTIAL).next().unwrap_or_default();
    let lock = found.path.with_file_name(format!("{key}.lock"));
    let held = match hold(&lock) {
        Hold::Busy => return Ok(false),
        Hold::Free(held) => held,
    };
    // There, but not locked: of a process that ended, or on a file system that knows no locks.
    if held.is_none() && lock.exists() && age::since(found.used, now) < PATIENCE {
        return Ok(false);
    }
    partial::remove(&found.path)?;
    match held.map(|_held| fs::remove_file(&lock)) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io("remove", &lock, &error))
        }
        _ => Ok(true),
    }
}

/// Whether a file is locked by another process.
enum Hold {
    Busy,
    /// Locked by this one as long as the file lives; none where it is not there, or where locks are
    /// not known.
    Free(Option<File>),
}

/// A file that was locked counts only while the path still leads to it: its last holder may have
/// removed it, and another have come in its place.
fn hold(path: &Path) -> Hold {
    let Ok(file) = File::open(path) else { return Hold::Free(None) };
    match file.try_lock() {
        Ok(()) if leads_to(path, &file) => Hold::Free(Some(file)),
        Ok(()) | Err(TryLockError::WouldBlock) => Hold::Busy,
        Err(TryLockError::Error(_)) => Hold::Free(None),
    }
}

#[cfg(unix)]
fn leads_to(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |it: fs::Metadata| (it.dev(), it.ino());
    match (fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(here)) => identity(there) == identity(here),
        _ => false,
    }
}

#[cfg(not(unix))]
fn leads_to(_: &Path, _: &File) -> bool {
    true
}
