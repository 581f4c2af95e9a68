//! Packages on disk, shared by all processes and branches: each is compiled once for a graph, a
//! compiler and a machine.
//!
//! ```text
//! <cache>/compiled/<key>/                     whole: it appears by one rename
//! <cache>/compiled/<key>.partial-<random>/    being made, or being removed, or left by a dead process
//! <cache>/compiled/<key>.lock                 held by who makes it; the others wait
//! <cache>/compiled/probes.json                vector instructions that were found to work
//! ```
//!
//! The name says all that decides what is in a package, so it is never out of date, and deleting the
//! folder is safe. The least recently used go when the size exceeds its bound, but none that a
//! process holds. The cache saves time and decides nothing else: where it cannot be written, steps
//! are compiled into a temporary folder, and a note says so.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::entry::{Entry, FACTS, Held};
use super::key::Key;
use super::lock::{self, Turn};
use super::partial::{self, Partial};
use crate::refusal::Refusal;

/// The folder of packages.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
    bound: u64,
}

impl Store {
    /// The folder in the cache; none where no variable says where the cache is.
    ///
    /// # Errors
    /// When the bound is no number.
    pub fn of_environment() -> Result<Option<Self>, Refusal> {
        Self::of(|name| std::env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Self>, Refusal> {
        let bound = ::libtorch::compiled_bound(&variable).map_err(Refusal::Failed)?;
        let cache = ::libtorch::cache_dir(variable);
        Ok(cache.map(|cache| Self::new(cache.join("compiled"), bound)))
    }

    /// `bound` in bytes.
    pub fn new(folder: PathBuf, bound: u64) -> Self {
        Self { folder, bound }
    }

    /// The package of a key, if it is there and whole.
    pub fn find(&self, key: &Key) -> Option<Held> {
        let held = Held::open(&self.place(key))?;
        held.touch();
        Some(held)
    }

    /// Whether any package is kept.
    pub fn holds_any(&self) -> bool {
        self.entries().next().is_some()
    }

    /// What is known to work on this machine, for `aot_compile.py`.
    pub fn probes(&self) -> PathBuf {
        self.folder.join("probes.json")
    }

    /// Waits until nobody else makes the package of a key; none if that is longer than the limit.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn turn(&self, key: &Key, limit: Duration) -> io::Result<Option<Turn>> {
        fs::create_dir_all(&self.folder)?;
        Turn::wait(&self.lock(key), limit)
    }

    /// A folder to make the package of a key in.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn partial(&self, key: &Key, _: &Turn) -> io::Result<Partial> {
        Partial::beside(&self.place(key))
    }

    /// Takes a package that was made into the cache, and makes room for it.
    ///
    /// # Errors
    /// When it cannot be renamed; then it is lost.
    pub fn keep(&self, key: &Key, partial: Partial, turn: &Turn) -> io::Result<Held> {
        // Where no locks are known, another process may have been faster, and be using its own.
        if let Some(held) = self.find(key).filter(|_| !turn.is_exclusive()) {
            return Ok(held);
        }
        let place = self.place(key);
        // What is there is not whole, for nobody: the form of the facts is part of the key.
        partial.move_to(&place)?;
        let gone = || io::Error::other(format!("{} is not as it was written", place.display()));
        let held = Held::open(&place).ok_or_else(gone)?;
        self.trim();
        Ok(held)
    }

    /// Removes what dead processes have left: of the key whose turn this is, and of those that
    /// nobody makes.
    pub fn sweep(&self, own: &Key, own_turn: &Turn) {
        for name in self.names() {
            let Some(key) = partial::place_of(&name).and_then(Key::parse) else { continue };
            // Who makes a package holds this.
            let turn = Turn::attempt(&self.lock(&key));
            if turn.is_some() || (key == *own && own_turn.is_exclusive()) {
                // What cannot be removed now is left to the next process.
                drop(fs::remove_dir_all(self.folder.join(&name)));
            }
        }
    }

    /// Removes the least recently used that nobody holds, until the bound is kept.
    fn trim(&self) {
        let mut entries: Vec<Entry> = self.entries().collect();
        entries.sort_by_key(|entry| entry.used);
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            if bytes <= self.bound {
                return;
            }
            // One without facts is no package, and nobody can hold it.
            let facts = entry.folder.join(FACTS);
            let taken = lock::take(&facts);
            let is_free = taken.is_some() || !facts.exists();
            if is_free && partial::remove(&entry.folder).is_ok() {
                bytes -= entry.bytes;
            }
        }
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        let keys = self.names().filter(|name| Key::parse(name).is_some());
        keys.map(|name| Entry::at(self.folder.join(name)))
    }

    fn names(&self) -> impl Iterator<Item = String> + use<> {
        // A folder that is not there holds nothing.
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    }

    fn place(&self, key: &Key) -> PathBuf {
        self.folder.join(key.to_string())
    }

    /// Who makes the package of a key has locked this.
    pub fn lock(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}.lock"))
    }
}

/// A folder of this process, for where there is no cache. Removed when dropped.
#[derive(Debug)]
pub(super) struct Temporary {
    folder: Partial,
}

impl Temporary {
    /// # Errors
    /// When the system's folder for temporary files cannot be written.
    pub fn new() -> io::Result<Self> {
        let folder = Partial::beside(&std::env::temp_dir().join("criterion-torch-compiled"))?;
        Ok(Self { folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.folder()
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
