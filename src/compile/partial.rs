//! A folder in which a package comes to be.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

const MARK: &str = ".partial-";

/// Removed when dropped, unless it was moved into place.
#[derive(Debug)]
pub(super) struct Partial {
    folder: PathBuf,
}

impl Partial {
    /// A new folder beside `place`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn beside(place: &Path) -> io::Result<Self> {
        let folder = beside(place);
        fs::create_dir(&folder)?;
        Ok(Self { folder })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes this the folder at `place`, instead of what is there.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn move_to(self, place: &Path) -> io::Result<()> {
        match remove(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(&self.folder, place),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Gone, if it was moved. What cannot be removed now, the next process removes.
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Removes a folder so that nobody sees a part of it.
///
/// # Errors
/// When it cannot be renamed; what remains of it then lies beside.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    let away = beside(folder);
    fs::rename(folder, &away)?;
    drop(Partial { folder: away });
    Ok(())
}

/// The name of the place that a folder was to be moved to; none of other folders.
pub(super) fn place_of(name: &str) -> Option<&str> {
    name.split_once(MARK).map(|(place, _)| place)
}

fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    // A random number: containers that share the folder may have one process id.
    let number = RandomState::new().hash_one(());
    place.with_file_name(format!("{name}{MARK}{number:016x}"))
}
