//! The contents of the cache. In JSON, sizes are bytes on disk, and times are seconds since 1970.

use std::cmp::Reverse;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::files;
use ::libtorch::lock;
use ::libtorch::packages::{Facts, Key};
use ::libtorch::partial::is_partial;
use plan::CompileMode;

/// One file or folder.
#[derive(Debug, Serialize)]
pub struct CacheEntry {
    #[serde(skip)]
    pub path: PathBuf,
    pub name: String,
    /// On disk, with all that is in it.
    pub bytes: u64,
    /// The latest modification of it and, of a folder, of what lies directly in it. The library
    /// touches a package that it uses again.
    #[serde(rename = "modified", serialize_with = "seconds")]
    pub used: SystemTime,
}

/// A whole compiled package.
#[derive(Debug, Serialize)]
pub struct Package {
    #[serde(flatten)]
    pub found: CacheEntry,
    /// None where its facts are not there or not what they should be.
    pub facts: Option<Compiled>,
}

/// How a package was compiled.
#[derive(Debug, Serialize)]
pub struct Compiled {
    pub mode: CompileMode,
    pub compiler: String,
    /// Seconds that the compilation took.
    pub seconds: f64,
}

/// A libtorch or a Python's torch that is being installed, or was when a setup was interrupted.
#[derive(Debug, Serialize)]
pub struct Installation {
    #[serde(flatten)]
    pub found: CacheEntry,
    pub left_over: bool,
}

/// CUDA and Triton kernels, compiled: a file each, written beside its place and renamed.
#[derive(Debug, Serialize)]
pub struct Kernels {
    pub files: Vec<CacheEntry>,
    /// Being written, or left by a process that ended while it wrote.
    pub unfinished: Vec<CacheEntry>,
}

#[derive(Debug, Serialize)]
pub struct Packages {
    /// The bytes that all packages together may take.
    pub bound_bytes: u64,
    /// The one used last first.
    pub packages: Vec<Package>,
    /// Being compiled or removed, or left by a process that ended meanwhile.
    pub unfinished: Vec<CacheEntry>,
}

#[derive(Debug, Serialize)]
pub struct Contents {
    pub folder: PathBuf,
    /// Each libtorch and each environment of Python.
    pub provisioned: Vec<CacheEntry>,
    pub partial: Vec<Installation>,
    pub kernels: Kernels,
    pub compiled: Packages,
}

impl Contents {
    pub fn read(cache: &Cache) -> Result<Self> {
        let ours = entries(cache.dir(), |name, _| Cache::is_provisioned(name))?;
        let (partial, provisioned) =
            ours.into_iter().partition(|it: &CacheEntry| is_partial(&it.path));
        let installation = |found: CacheEntry| {
            let left_over = lock::is_left_over(&cache.setup_lock(), &found.path);
            Installation { found, left_over }
        };
        Ok(Self {
            folder: cache.dir().to_path_buf(),
            provisioned,
            partial: Vec::into_iter(partial).map(installation).collect(),
            kernels: Kernels::read(cache)?,
            compiled: Packages::read(cache)?,
        })
    }
}

impl Kernels {
    pub fn read(cache: &Cache) -> Result<Self> {
        let all = entries(&cache.kernels(), |_, _| true)?;
        let (unfinished, files) = all.into_iter().partition(|found| is_partial(&found.path));
        Ok(Self { files, unfinished })
    }
}

impl Packages {
    pub fn read(cache: &Cache) -> Result<Self> {
        let store = cache.compiled()?;
        // Locks, and what else the library keeps beside its packages, are neither.
        let unfinished =
            entries(store.folder(), |name, path| path.is_dir() && Key::of_partial(name).is_some())?;
        let whole =
            entries(store.folder(), |name, path| path.is_dir() && Key::parse(name).is_some())?;
        let mut packages: Vec<Package> = whole.into_iter().map(Package::new).collect();
        packages.sort_by_key(|package| Reverse(package.found.used));
        Ok(Self { bound_bytes: store.bound(), packages, unfinished })
    }
}

impl Package {
    fn new(found: CacheEntry) -> Self {
        let facts = Facts::read(&found.path).map(|Facts { compilation, .. }| Compiled {
            mode: compilation.mode,
            compiler: compilation.compiler,
            seconds: compilation.seconds,
        });
        Self { found, facts }
    }
}

impl CacheEntry {
    fn read(path: PathBuf, name: String) -> io::Result<Self> {
        let mut used = fs::symlink_metadata(&path)?.modified()?;
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                used = used.max(entry?.metadata()?.modified()?);
            }
        }
        Ok(Self { bytes: files::on_disk(&path)?, path, name, used })
    }
}

/// Everything that is `wanted` and lies directly in a folder, by name; nothing where there is no such folder.
fn entries(folder: &Path, wanted: impl Fn(&str, &Path) -> bool) -> Result<Vec<CacheEntry>> {
    let mut found = Vec::new();
    for path in files::inside(folder)? {
        let name = files::name(&path);
        if !wanted(&name, &path) {
            continue;
        }
        match CacheEntry::read(path, name) {
            Ok(entry) => found.push(entry),
            // Gone in the meantime: another process moved or removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("read", folder, &error)),
        }
    }
    Ok(found)
}

fn seconds<S: Serializer>(time: &SystemTime, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_u64(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
