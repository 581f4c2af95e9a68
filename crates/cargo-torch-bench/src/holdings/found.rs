//! One file or folder of the cache, and what can be told of any.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{Error, Result};
use crate::size;

#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    /// On disk, with all that is in it.
    pub bytes: u64,
    /// The latest modification of it and, of a folder, of what lies directly in it. What the library
    /// uses again, it touches.
    pub used: SystemTime,
}

impl Found {
    pub fn at(path: PathBuf) -> io::Result<Self> {
        let mut used = fs::symlink_metadata(&path)?.modified()?;
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                used = used.max(entry?.metadata()?.modified()?);
            }
        }
        let bytes = size::on_disk(&path)?;
        Ok(Self { path, bytes, used })
    }

    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Everything that lies directly in a folder, by name; nothing where there is no such folder.
pub fn entries(folder: &Path) -> Result<Vec<Found>> {
    let failed = |error: io::Error| Error::io("read", folder, &error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        match Found::at(entry.map_err(failed)?.path()) {
            Ok(entry) => found.push(entry),
            // Gone in the meantime: another process moved or removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

pub fn bytes<'f>(found: impl IntoIterator<Item = &'f Found>) -> u64 {
    found.into_iter().map(|found| found.bytes).sum()
}
