//! A package on disk, and its facts.
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

use crate::lock;

/// The compiled code.
pub const PACKAGE: &str = "package.pt2";
/// The file of facts, which is locked while the package is used.
pub const FACTS: &str = "facts.json";

/// The form of the facts, and part of a package's key: who writes another form looks for other packages.
pub const FORMAT: u32 = 1;

/// Facts of a package. A change of these fields raises [`FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// As of the run that compiled it.
    pub compilation: plan::Compilation,
    /// Kernels that a run calls, in the order of first use.
    pub kernels: Vec<String>,
    /// FNV-1a of the package.
    pub checksum: u64,
}

/// A package that nobody removes.
#[derive(Debug)]
pub struct PackageLease {
    /// Its path.
    pub package: PathBuf,
    /// Its facts.
    pub facts: Facts,
    _file: File,
}

impl Facts {
    /// The facts of the package in a folder, whole or not.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_reader(io::BufReader::new(File::open(folder.join(FACTS)).ok()?)).ok()
    }
}

impl PackageLease {
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

#[cfg(test)]
#[path = "lease_tests.rs"]
pub(super) mod tests;
