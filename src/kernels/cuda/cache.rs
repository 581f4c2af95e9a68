//! Cubins on disk: a kernel is compiled once for each GPU, compiler and source.
//!
//! ```text
//! <cache>/kernels/gemlite.cu-sm_90-0123456789abcdef.cubin
//! ```
//!
//! `<cache>` is the folder that libtorch is provisioned in. The number is a hash of all that
//! decides what is in the file, so a file is never out of date, and deleting the folder is safe.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::compile::{self, Capability, Source};
use super::libraries;
use crate::refusal::Refusal;

/// The source compiled for the capability, from the disk where it is there.
///
/// # Errors
/// As for [`compile::compile`]; skipped where there is no folder to keep it in.
pub(super) fn cubin(source: &Source, capability: Capability) -> Result<Vec<u8>, Refusal> {
    let cache = ::libtorch::cache_dir(|name| std::env::var_os(name)).ok_or_else(|| {
        Refusal::Skipped(format!("no place for compiled kernels: HOME is not set; {REMEDY}"))
    })?;
    let version = libraries::nvrtc()?.version;
    cached(&path(&cache, source, capability, version), || compile::compile(source, capability))
}

const REMEDY: &str = "set CRITERION_TORCH_CACHE to a folder that you can write to";

fn path(cache: &Path, source: &Source, capability: Capability, version: (i32, i32)) -> PathBuf {
    let (major, minor) = version;
    let options = compile::options(capability).join(" ");
    let key = plan::fnv1a(&format!("NVRTC {major}.{minor}\n{options}\n{}", source.with_ptx()));
    cache.join("kernels").join(format!("{}-{capability}-{key:016x}.cubin", source.name))
}

/// The file's content; where there is no such file, what `make` makes, and then there is one.
fn cached(
    path: &Path,
    make: impl FnOnce() -> Result<Vec<u8>, Refusal>,
) -> Result<Vec<u8>, Refusal> {
    let unusable = |what: &str, error: &io::Error| {
        Refusal::Skipped(format!("cannot {what} {}: {error}; {REMEDY}", path.display()))
    };
    match fs::read(path) {
        Ok(cubin) => return Ok(cubin),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unusable("read", &error)),
    }
    let cubin = make()?;
    write_whole(path, &cubin).map_err(|error| unusable("write", &error))?;
    Ok(cubin)
}

/// Writes beside and renames: another process finds the whole file or none.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let beside = path.with_extension(format!("partial-{}", std::process::id()));
    let written = fs::File::create(&beside)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Nothing more can be done about it, and the first error is the one to tell.
        drop(fs::remove_file(&beside));
    }
    written
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
