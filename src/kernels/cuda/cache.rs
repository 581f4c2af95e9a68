//! Cubins on disk: a kernel is compiled once for each GPU, compiler and source.
//!
//! ```text
//! <cache>/kernels/gemlite.cu-sm_90-0123456789abcdef.cubin
//!     length of the cubin | its FNV-1a | the cubin        two 64-bit words, little-endian, in front
//! ```
//!
//! `<cache>` is the folder that libtorch is provisioned in. The number in the name is a hash of all
//! that decides what is in the file, so a file is never out of date, and deleting the folder is
//! safe. The driver takes a cubin without its length and trusts what it says, so a file whose words
//! do not fit its content counts as absent. The cache saves time and decides nothing else: where it
//! cannot be read or written, the kernel is compiled, and a note says so.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;

use super::compile::{self, Capability, Source};
use super::libraries;
use crate::refusal::Refusal;

/// What a cubin begins with.
const ELF: &[u8] = b"\x7fELF";

/// The source compiled for the capability, from the disk where it is there.
///
/// # Errors
/// As for [`compile::compile`].
pub(super) fn cubin(source: &Source, capability: Capability) -> Result<Vec<u8>, Refusal> {
    let version = libraries::nvrtc()?.version;
    let compile = || compile::compile(source, capability);
    match ::libtorch::cache_dir(|name| std::env::var_os(name)) {
        Some(cache) => cached(&path(&cache, source, capability, version), compile, note),
        None => {
            note("HOME is not set");
            compile()
        }
    }
}

/// Says once that kernels are compiled in every process, and why.
fn note(reason: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        eprintln!(
            "note: compiled kernels are not kept: {reason}; set CRITERION_TORCH_CACHE to a folder \
             that you can write to"
        );
    });
}

fn path(cache: &Path, source: &Source, capability: Capability, version: (i32, i32)) -> PathBuf {
    let (major, minor) = version;
    let options = compile::options(capability).join(" ");
    let key = plan::fnv1a(format!("NVRTC {major}.{minor}\n{options}\n{}", source.with_ptx()));
    cache.join("kernels").join(format!("{}-{capability}-{key:016x}.cubin", source.name))
}

/// The cubin in the file; where it holds none, what `make` makes, and then it does.
fn cached(
    path: &Path,
    make: impl FnOnce() -> Result<Vec<u8>, Refusal>,
    note: impl FnOnce(&str),
) -> Result<Vec<u8>, Refusal> {
    // A file that cannot be read is made again; if it cannot be written either, that is noted.
    if let Some(cubin) = fs::read(path).ok().as_deref().and_then(content) {
        return Ok(cubin.to_vec());
    }
    let cubin = make()?;
    if let Err(error) = write_whole(path, &cubin) {
        note(&format!("cannot write {}: {error}", path.display()));
    }
    Ok(cubin)
}

/// The cubin of a file, if it is all there and as it was written.
fn content(file: &[u8]) -> Option<&[u8]> {
    let (length, rest) = file.split_first_chunk()?;
    let (hash, cubin) = rest.split_first_chunk()?;
    let is_whole = u64::from_le_bytes(*length) == cubin.len() as u64
        && u64::from_le_bytes(*hash) == plan::fnv1a(cubin)
        && cubin.starts_with(ELF);
    is_whole.then_some(cubin)
}

/// Writes beside and renames: another process finds the whole file or none.
fn write_whole(path: &Path, cubin: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // A random number: containers that share the folder may have one process id.
    let beside = path.with_extension(format!("partial-{:016x}", RandomState::new().hash_one(())));
    let mut file = fs::File::create_new(&beside)?;
    let written = file
        .write_all(&(cubin.len() as u64).to_le_bytes())
        .and_then(|()| file.write_all(&plan::fnv1a(cubin).to_le_bytes()))
        .and_then(|()| file.write_all(cubin))
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
