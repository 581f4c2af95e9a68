//! Files that processes, and threads of one, take turns by.
//!
//! The system drops a lock when its holder ends, in whatever way, so a lock is never stale. A locked
//! file may have been removed by its last holder, and another have come in its place: what was
//! locked counts only while the path still leads to it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The right to make what a file is named after. The file is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    path: PathBuf,
    /// Locked until dropped; not where the file system knows no locks.
    _file: File,
}

impl Turn {
    /// Waits while somebody else has it.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn wait(path: &Path) -> io::Result<Self> {
        loop {
            let file = open(path)?;
            match file.lock() {
                Ok(()) if !leads_to(path, &file) => {}
                Ok(()) => return Ok(Self { path: path.to_owned(), _file: file }),
                // Some network file systems know no locks. Two processes may then make the same
                // thing, and the first to rename it into place wins.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(Self { path: path.to_owned(), _file: file });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// None while somebody else has it, and where that cannot be known.
    pub fn attempt(path: &Path) -> Option<Self> {
        let file = open(path).ok()?;
        file.try_lock().ok()?;
        leads_to(path, &file).then(|| Self { path: path.to_owned(), _file: file })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Where it cannot be removed, it stays, and the next one locks it.
        drop(fs::remove_file(&self.path));
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

/// Opens a file that is not to be removed as long as it stays open.
///
/// # Errors
/// `NotFound` when it is not there, or about to be removed.
pub(super) fn hold(path: &Path) -> io::Result<File> {
    let gone = || io::Error::new(io::ErrorKind::NotFound, "about to be removed");
    let file = File::open(path)?;
    match file.try_lock_shared() {
        Ok(()) if leads_to(path, &file) => Ok(file),
        Ok(()) | Err(TryLockError::WouldBlock) => Err(gone()),
        // Without locks the holder has to be lucky: what is used last is removed last.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Opens a file that nobody holds; nobody can while it stays open.
pub(super) fn take(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    leads_to(path, &file).then_some(file)
}

fn leads_to(path: &Path, file: &File) -> bool {
    let identity = |it: fs::Metadata| (it.dev(), it.ino());
    match (fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(here)) => identity(there) == identity(here),
        _ => false,
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
