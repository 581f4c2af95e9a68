//! Compiled kernels on disk: a kernel is compiled once for each GPU, compiler and source.
//!
//! ```text
//! <cache>/kernels/gemlite.cu-sm_90-0123456789abcdef.cubin
//!     length of the content | its FNV-1a | the content        two 64-bit words, little-endian, in front
//! ```
//!
//! `<cache>` is the folder that libtorch is provisioned in. The number in the name is a hash of all
//! that decides what is in the file, so a file is never out of date, and deleting the folder is
//! safe. The driver takes a cubin without its length and trusts what it says, so a file whose words
//! do not fit its content counts as absent. The cache saves time and decides nothing else: where it
//! cannot be read or written, the kernel is compiled, and a note says so.

use std::fs;
use std::path::Path;
use std::sync::Once;

use ::libtorch::partial;

use native::refusal::Refusal;

/// The first bytes of a cubin.
pub(super) const ELF: &[u8] = b"\x7fELF";

/// The content of the file of this name; where there is none that `is_right`, what `make` makes,
/// and then there is.
pub(super) fn kept(
    name: &str,
    is_right: impl Fn(&[u8]) -> bool,
    make: impl FnOnce() -> Result<Vec<u8>, Refusal>,
) -> Result<Vec<u8>, Refusal> {
    match ::libtorch::cache_dir(|name| std::env::var_os(name)) {
        Some(cache) => cached(&cache.join("kernels").join(name), is_right, make, note),
        None => {
            note("HOME is not set");
            make()
        }
    }
}

/// Whether any file with this extension is kept.
pub(super) fn holds(extension: &str) -> bool {
    let folder = ::libtorch::cache_dir(|name| std::env::var_os(name)).map(|it| it.join("kernels"));
    let files = folder.and_then(|folder| fs::read_dir(folder).ok());
    files
        .into_iter()
        .flatten()
        .flatten()
        .any(|it| it.path().extension().is_some_and(|found| found == extension))
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

fn cached(
    path: &Path,
    is_right: impl Fn(&[u8]) -> bool,
    make: impl FnOnce() -> Result<Vec<u8>, Refusal>,
    note: impl FnOnce(&str),
) -> Result<Vec<u8>, Refusal> {
    // A file that cannot be read is made again; if it cannot be written either, that is noted.
    let file = fs::read(path).ok();
    if let Some(content) = file.as_deref().and_then(content).filter(|it| is_right(it)) {
        return Ok(content.to_vec());
    }
    let content = make()?;
    let [length, hash] = [content.len() as u64, plan::fnv1a(&content)].map(u64::to_le_bytes);
    // The name shows `cargo xtask cache` that it may be a left-over.
    if let Err(error) = partial::write(path, &[&length[..], &hash, &content].concat()) {
        note(&format!("cannot write {}: {error}", path.display()));
    }
    Ok(content)
}

/// The content of a file, if it is all there and as it was written.
fn content(file: &[u8]) -> Option<&[u8]> {
    let (length, rest) = file.split_first_chunk()?;
    let (hash, content) = rest.split_first_chunk()?;
    let is_whole = u64::from_le_bytes(*length) == content.len() as u64
        && u64::from_le_bytes(*hash) == plan::fnv1a(content);
    is_whole.then_some(content)
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
