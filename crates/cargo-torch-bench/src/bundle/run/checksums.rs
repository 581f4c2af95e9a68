//! Whether the files of a bundle are those that were packed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use walkdir::WalkDir;

use super::super::manifest::{self, CHECKSUMS, Manifest};
use crate::error::{Error, Result};
use crate::files;

/// Files that are gone or have another size, as an interrupted unpacking leaves them. This reads no contents.
pub fn misplaced(bundle: &Path, manifest: &Manifest) -> Vec<Error> {
    let wrong = |file: &manifest::File| {
        let path = bundle.join(&file.path);
        match fs::metadata(&path) {
            Err(error) => Some(Error::io("read", &path, &error)),
            Ok(metadata) if metadata.len() != file.bytes => Some(Error::new(format!(
                "{} has {} bytes, and {} when it was packed",
                path.display(),
                metadata.len(),
                file.bytes
            ))),
            Ok(_) => None,
        }
    };
    manifest.files.iter().filter_map(wrong).map(unpack_again).collect()
}

/// Files whose contents are others, or that the list of checksums lacks or has too many. Reads all of them.
pub fn damaged(bundle: &Path, manifest: &Manifest) -> Result<Vec<Error>> {
    let list = bundle.join(CHECKSUMS);
    let shown = list.display();
    let mut missing: BTreeSet<&str> = packed(manifest).collect();
    let mut found = Vec::new();
    for (index, line) in files::read(&list)?.lines().enumerate() {
        let line_number = index + 1;
        let (expected, place) = line.split_once("  ").ok_or_else(|| {
            unpack_again(Error::new(format!("{shown}:{line_number}: not a checksum")))
        })?;
        let path = bundle.join(place);
        found.extend(match hash(&path) {
            _ if !missing.remove(place) => Some(Error::new(format!(
                "{shown}:{line_number}: {place:?} stands there twice, or not in {}",
                manifest::FILE
            ))),
            Err(error) => Some(Error::io("read", &path, &error)),
            Ok(hash) if hash != expected => Some(Error::new(format!(
                "{} is damaged: its SHA-256 is {hash}, and was {expected}",
                path.display()
            ))),
            Ok(_) => None,
        });
    }
    let missing = missing.into_iter().map(|place| Error::new(format!("{shown} lacks {place}")));
    Ok(found.into_iter().chain(missing).map(unpack_again).collect())
}

/// The files that have a checksum.
fn packed(manifest: &Manifest) -> impl Iterator<Item = &str> {
    manifest.files.iter().map(|file| file.path.as_str()).chain([manifest::FILE])
}

/// Files and folders that were not packed, but for `results` and for the cache, into which runs write.
pub fn strangers(bundle: &Path, manifest: &Manifest, results: &Path) -> Result<Vec<Error>> {
    let known: BTreeSet<&Path> =
        packed(manifest).chain([CHECKSUMS]).flat_map(|it| Path::new(it).ancestors()).collect();
    let results = results.canonicalize().ok();
    let mut found = Vec::new();
    let mut walk = WalkDir::new(bundle).min_depth(1).into_iter();
    while let Some(entry) = walk.next() {
        let entry = entry.map_err(|error| Error::new(format!("cannot read {error}")))?;
        let path = entry.path();
        let place = path.strip_prefix(bundle).expect("the walk began there");
        let real = path.canonicalize().ok();
        // The manifest lists no links; those of libtorch lead to files that were packed.
        let to = real.as_deref().and_then(|real| real.strip_prefix(bundle).ok());
        let is_written = real.is_some() && real == results
            || place == Path::new(manifest::CACHE) && manifest.compiled.is_some();
        if is_written || !to.is_some_and(|to| known.contains(to)) {
            if entry.file_type().is_dir() {
                walk.skip_current_dir();
            }
            if !is_written {
                let what = format!("{} was not packed into the bundle", path.display());
                found.push(Error::new(what).remedy("move it away, or unpack the bundle again"));
            }
        }
    }
    Ok(found)
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    let mut bytes = vec![0; 1 << 20];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(format!("{:x}", hash.finalize())),
            count => hash.update(&bytes[..count]),
        }
    }
}

fn unpack_again(error: Error) -> Error {
    error.remedy("unpack the bundle again: tar -xf BUNDLE.tar.zst")
}

#[cfg(test)]
#[path = "checksums_tests.rs"]
mod tests;
