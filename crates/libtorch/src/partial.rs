//! Files and folders that come to be beside their place, and appear there by one rename.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::{Builder, TempDir};

use crate::lock::{self, Taken};

/// Between the name of the place and a random number. It is no process id: containers that share a folder may have one
/// and the same.
pub const MARK: &str = ".partial-";

/// A new folder beside `place`, removed when it is dropped.
///
/// # Errors
/// When it cannot be made.
pub fn folder_beside(place: &Path) -> io::Result<TempDir> {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let mut builder = Builder::new();
    let prefix = format!("{name}{MARK}");
    builder.prefix(&prefix).rand_bytes(16);
    // The permissions that the umask leaves, as for any folder.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    builder.tempdir_in(place.parent().unwrap_or(Path::new("")))
}

/// Makes a new folder the one at `place`, where there is none yet.
///
/// # Errors
/// When it cannot be renamed: `DirectoryNotEmpty` or `AlreadyExists` where another process was faster.
pub fn move_to(partial: TempDir, place: &Path) -> io::Result<()> {
    fs::rename(partial.path(), place)?;
    // It is no longer where it would be removed.
    let _moved = partial.keep();
    Ok(())
}

/// Writes a file beside its place and renames it: no reader sees a part of it, and what cannot be written whole leaves
/// nothing.
///
/// # Errors
/// When it cannot be written or renamed.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = Builder::new()
        .prefix(&format!("{name}{MARK}"))
        // The permissions are those that the umask leaves.
        .make_in(folder, |path| File::create_new(path))?;
    let mut file = beside.as_file();
    file.write_all(bytes)?;
    file.sync_data()?;
    beside.persist(path)?;
    Ok(())
}

/// Has an unfinished file or folder count as being made for as long as it stays open.
///
/// # Errors
/// `AlreadyExists` where another process was just removing it: make another one.
pub fn hold(path: &Path, opened: &File) -> io::Result<()> {
    match opened.try_lock() {
        Ok(()) if lock::leads_to(path, opened) => Ok(()),
        Ok(()) | Err(TryLockError::WouldBlock) => Err(io::ErrorKind::AlreadyExists.into()),
        // Some network file systems know no locks; nothing is removed there.
        Err(TryLockError::Error(error)) if lock::is_lockless(&error) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the unfinished files and folders in `folder` that no process holds, if their place is one of ours.
///
/// # Errors
/// When the folder cannot be read, or something in it not be removed.
pub fn sweep(folder: &Path, is_ours: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let is_left = place_of(&entry.file_name().to_string_lossy()).is_some_and(&is_ours);
        if !is_left || !(kind.is_file() || kind.is_dir()) {
            continue;
        }
        if let Ok(Taken::Free(Some(_held))) = lock::take(&entry.path()) {
            match kind.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
    }
    Ok(())
}

/// Removes a folder that may be gone already, so that nobody sees a part of it.
///
/// # Errors
/// When it cannot be renamed or removed; what remains of it then lies beside.
pub fn remove(folder: &Path) -> io::Result<()> {
    if !folder.try_exists()? {
        return Ok(());
    }
    let away = folder_beside(folder)?;
    fs::rename(folder, away.path())?;
    away.close()
}

/// The name of the place that an unfinished file or folder was to be moved to; none of whole ones.
pub fn place_of(name: &str) -> Option<&str> {
    name.split_once(MARK).map(|(place, _)| place)
}

/// Whether a path is that of an unfinished file or folder.
pub fn is_partial(path: &Path) -> bool {
    path.file_name().is_some_and(|name| place_of(&name.to_string_lossy()).is_some())
}

#[cfg(test)]
#[path = "partial_tests.rs"]
mod tests;
