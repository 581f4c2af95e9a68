//! Files and folders: lists, sizes, writing and removing.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::error::{Error, Result};
use ::libtorch::partial;

/// The entries of a folder, sorted by name; none where there is no such folder.
pub fn inside(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error| Error::io("read", folder, &error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let mut paths = entries
        .map(|entry| entry.map(|it| it.path()).map_err(unreadable))
        .collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Error::io("read", path, &error))
}

/// Writes beside the place and renames, so that there is never half a file.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    partial::write(path, bytes.as_ref()).map_err(|error| Error::io("write", path, &error))
}

pub fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, &error))
}

/// Removes a folder that may be gone already, with all that is in it.
pub fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io("remove", folder, &error))
        }
        _ => Ok(()),
    }
}

/// The file of that name in the first folder of a PATH that has one.
pub fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Bytes that `path` and everything in it occupy. Links are counted, not followed; a file that goes
/// meanwhile counts nothing.
pub fn on_disk(path: &Path) -> io::Result<u64> {
    fs::symlink_metadata(path)?;
    let mut bytes = 0;
    for entry in WalkDir::new(path) {
        bytes += match entry.and_then(|entry| entry.metadata()).map_err(io::Error::from) {
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            metadata => occupied(&metadata?),
        };
    }
    Ok(bytes)
}

/// Whole blocks, as `du` counts them: the wheel holds twelve thousand small headers.
#[cfg(unix)]
fn occupied(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blocks() * 512
}

#[cfg(not(unix))]
fn occupied(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_weighs_at_least_what_its_files_hold() {
        let dir = std::env::temp_dir().join(format!("xtask-size-{}", std::process::id()));
        fs::create_dir_all(dir.join("inner")).expect("make a scratch folder");
        fs::write(dir.join("inner/file"), vec![1; 10_000]).expect("write a scratch file");
        let bytes = on_disk(&dir).expect("measure the scratch folder");
        fs::remove_dir_all(&dir).expect("remove the scratch folder");
        assert!(bytes >= 10_000, "{bytes}");
        assert!(on_disk(&dir).is_err());
    }
}
