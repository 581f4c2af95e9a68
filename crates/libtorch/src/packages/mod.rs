//! Packages of `torch.compile` on disk, shared by all processes and branches: each is compiled once for a graph, a
//! compiler and a machine. The library makes and runs them, `cargo torch-bench cache` shows and removes them.
//!
//! ```text
//! <cache>/compiled/<key>/{package.pt2, facts.json}    whole: it appears by one rename
//! <cache>/compiled/<key>.partial-<random>/            being made or removed, or left by a dead process
//! <cache>/compiled/<key>.lock                         held by who makes it; the others wait
//! <cache>/compiled/probes.json                        vector instructions that were found to work
//! ```
//!
//! The name says all that decides what is in a package, so it is never out of date, and deleting the
//! folder is safe. The least recently used go when the size exceeds its bound, but none that a
//! process holds. The cache saves time and decides nothing else: where it cannot be written, steps
//! are compiled into a temporary folder, and a note says so.

mod lease;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::lock::{self, LockGuard, Taken};
use crate::partial;

pub use lease::{FACTS, FORMAT, Facts, PACKAGE, PackageLease};

/// The name of a package: 128 bits, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// A hash of all parts that decide what is in a package.
    pub fn from_parts(parts: impl IntoIterator<Item = String>) -> Self {
        let mut bytes = Vec::new();
        for part in parts {
            // With its length, so that no text can move from one part to the next.
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.into_bytes());
        }
        Self(format!("{:032x}", plan::fnv1a_128(bytes)))
    }

    /// A name that a key has.
    pub fn parse(name: &str) -> Option<Self> {
        let is_key =
            name.len() == 32 && name.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        is_key.then(|| Self(name.to_owned()))
    }

    /// The key of a package that is being made or removed in a folder of this name.
    pub fn of_partial(name: &str) -> Option<Self> {
        partial::place_of(name).and_then(Self::parse)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The folder of packages.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    bound: u64,
}

impl Store {
    /// The folder in the cache; none where no variable says where the cache is.
    ///
    /// # Errors
    /// When the bound is no number.
    pub fn of_environment() -> Result<Option<Self>, String> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Self>, String> {
        let bound = crate::compiled_bound(&variable)?;
        let cache = crate::cache_dir(variable);
        Ok(cache.map(|cache| Self::new(cache.join("compiled"), bound)))
    }

    /// `bound` in bytes.
    pub fn new(folder: PathBuf, bound: u64) -> Self {
        Self { folder, bound }
    }

    /// The folder of the packages.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The bytes that all packages together may take.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// The package of a key, if it is there and whole.
    pub fn find(&self, key: &Key) -> Option<PackageLease> {
        let held = PackageLease::open(&self.place(key))?;
        held.touch();
        Some(held)
    }

    /// Whether any package is kept.
    pub fn holds_any(&self) -> bool {
        self.places().next().is_some()
    }

    /// The file in which `aot_compile.py` keeps what works on this machine.
    pub fn probes(&self) -> PathBuf {
        self.folder.join("probes.json")
    }

    /// Waits until nobody else makes the package of a key; none if that is longer than the limit.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn turn(&self, key: &Key, limit: Duration) -> io::Result<Option<LockGuard>> {
        fs::create_dir_all(&self.folder)?;
        LockGuard::wait(&self.lock(key), limit)
    }

    /// A folder to make the package of a key in.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn partial(&self, key: &Key, _: &LockGuard) -> io::Result<TempDir> {
        partial::folder_beside(&self.place(key))
    }

    /// Takes a package that was made into the cache, and makes room for it.
    ///
    /// # Errors
    /// When it cannot be renamed; then it is lost.
    pub fn keep(&self, key: &Key, partial: TempDir, turn: &LockGuard) -> io::Result<PackageLease> {
        // Where no locks are known, another process may have been faster, and be using its own.
        if let Some(held) = self.find(key).filter(|_| !turn.is_exclusive()) {
            return Ok(held);
        }
        let place = self.place(key);
        // A package that is there is whole for nobody: the form of the facts is part of the key.
        partial::remove(&place)?;
        partial::move_to(partial, &place)?;
        let gone =
            || io::Error::other(format!("{} has changed since it was written", place.display()));
        let held = PackageLease::open(&place).ok_or_else(gone)?;
        self.trim();
        Ok(held)
    }

    /// Removes what dead processes have left: of the key whose turn this is, and of those that
    /// nobody makes.
    pub fn sweep(&self, own: &Key, own_turn: &LockGuard) {
        for name in self.names() {
            let Some(key) = Key::of_partial(&name) else { continue };
            let folder = self.folder.join(&name);
            // The next process removes what this one cannot.
            drop(if key == *own && own_turn.is_exclusive() {
                fs::remove_dir_all(folder)
            } else {
                self.remove_partial(&folder).map(drop)
            });
        }
    }

    /// Removes a package. False if it stays because a process uses it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn remove(&self, folder: &Path) -> io::Result<bool> {
        match lock::take(&folder.join(FACTS))? {
            Taken::Held => Ok(false),
            // Kept until the folder is gone. Without locks a user has to be lucky: it touches what it uses.
            Taken::Free(_facts) => partial::remove(folder).map(|()| true),
        }
    }

    /// Removes a partial folder. False if it stays because a process is making a package of its key.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn remove_partial(&self, folder: &Path) -> io::Result<bool> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let Some(key) = Key::of_partial(&name) else { return Ok(false) };
        match LockGuard::attempt(&self.lock(&key))? {
            Some(turn) if turn.is_exclusive() || lock::is_old(folder) => {
                match fs::remove_dir_all(folder) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(true),
                }
            }
            _ => Ok(false),
        }
    }

    /// Removes the least recently used that nobody holds, until the bound is kept.
    fn trim(&self) {
        let mut packages: Vec<(SystemTime, u64, PathBuf)> = self
            .places()
            .map(|folder| {
                let file = |name: &str| fs::metadata(folder.join(name)).ok();
                let used = file(FACTS).and_then(|it| it.modified().ok());
                let bytes =
                    [PACKAGE, FACTS].iter().filter_map(|name| Some(file(name)?.len())).sum();
                (used.unwrap_or(SystemTime::UNIX_EPOCH), bytes, folder)
            })
            .collect();
        packages.sort();
        let mut together: u64 = packages.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, folder) in packages {
            if together <= self.bound {
                return;
            }
            if self.remove(&folder).is_ok_and(|gone| gone) {
                together -= bytes;
            }
        }
    }

    fn places(&self) -> impl Iterator<Item = PathBuf> {
        let keys = self.names().filter(|name| Key::parse(name).is_some());
        keys.map(|name| self.folder.join(name))
    }

    fn names(&self) -> impl Iterator<Item = String> + use<> {
        // A folder that is not there holds nothing.
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    }

    fn place(&self, key: &Key) -> PathBuf {
        self.folder.join(key.to_string())
    }

    /// The file that a process locks while it makes the package of a key.
    pub fn lock(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}.lock"))
    }
}

#[cfg(test)]
mod tests;
