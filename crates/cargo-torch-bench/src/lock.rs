//! One installation at a time, per cache.
//!
//! The system drops the lock when its holder ends, in whatever way, so a lock is never stale.

use std::fs::{File, OpenOptions, TryLockError};

use crate::cache::Cache;
use crate::error::{Error, Result};

/// Held until dropped.
pub struct Lock {
    _file: File,
    exclusive: bool,
}

impl Lock {
    /// Waits, and says so, while another setup holds the lock.
    pub fn wait(cache: &Cache) -> Result<Self> {
        let (path, file) = open(cache)?;
        let exclusive = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                eprintln!("another setup is running, waiting for it …");
                file.lock().map_err(|error| Error::io("lock", &path, &error))?;
                true
            }
            // Some network file systems know no locks. Two setups at once then download twice, and
            // that is all: the rename into place still admits one of them.
            Err(TryLockError::Error(error)) => {
                eprintln!("note: {} cannot be locked ({error}), going on", path.display());
                false
            }
        };
        Ok(Self { _file: file, exclusive })
    }

    /// The lock if nobody holds it.
    pub fn attempt(cache: &Cache) -> Option<Self> {
        let (_, file) = open(cache).ok()?;
        file.try_lock().is_ok().then_some(Self { _file: file, exclusive: true })
    }

    /// Whether nobody else can be installing: false where the file system knows no locks.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }
}

fn open(cache: &Cache) -> Result<(std::path::PathBuf, File)> {
    let path = cache.dir().join("setup.lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| Error::io("open", &path, &error))?;
    Ok((path, file))
}
