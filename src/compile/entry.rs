//! A package on disk, and what is known of it.
//!
//! ```text
//! <cache>/compiled/<key>/package.pt2
//! <cache>/compiled/<key>/facts.json     its length and hash among them; locked while it is used
//! ```

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::lock;

pub(super) const PACKAGE: &str = "package.pt2";
pub(super) const FACTS: &str = "facts.json";

/// Of the facts, and part of a package's key: who writes another form looks for other packages.
pub(super) const FORMAT: u32 = 1;

/// What is known of a package. Whoever changes it raises [`FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Facts {
    /// As of the run that compiled it.
    pub compilation: plan::Compilation,
    /// What a run calls, in the order of first use.
    pub kernels: Vec<String>,
    /// FNV-1a of the package.
    pub checksum: u64,
}

/// A package that nobody removes.
#[derive(Debug)]
pub(super) struct Held {
    pub package: PathBuf,
    pub facts: Facts,
    _file: File,
}

impl Held {
    /// The package in a folder, if it is whole.
    pub fn open(folder: &Path) -> Option<Self> {
        let path = folder.join(FACTS);
        let file = lock::hold(&path).ok()?;
        let facts: Facts = serde_json::from_reader(io::BufReader::new(&file)).ok()?;
        let package = folder.join(PACKAGE);
        let bytes = fs::read(&package).ok()?;
        let is_whole = bytes.len() as u64 == facts.compilation.package_bytes
            && plan::fnv1a(&bytes) == facts.checksum;
        is_whole.then_some(Self { package, facts, _file: file })
    }

    /// Notes that it is in use. Where that cannot be written, nothing can be removed, either.
    pub fn touch(&self) {
        let file = self.package.with_file_name(FACTS);
        let now = SystemTime::now();
        drop(File::options().append(true).open(file).and_then(|file| file.set_modified(now)));
    }
}

/// What can be removed.
#[derive(Debug)]
pub(super) struct Entry {
    pub folder: PathBuf,
    pub bytes: u64,
    pub used: SystemTime,
}

impl Entry {
    /// The entry in a folder, whole or not.
    pub fn at(folder: PathBuf) -> Self {
        let file = |name: &str| fs::metadata(folder.join(name));
        let bytes = [PACKAGE, FACTS].iter().filter_map(|name| Some(file(name).ok()?.len())).sum();
        let used = file(FACTS).and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        Self { folder, bytes, used }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
pub(super) mod tests;
