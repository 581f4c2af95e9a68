//! Files that processes, and threads of one, take turns by.
//!
//! The system drops a lock when its holder ends, in whatever way, so a lock is never stale. A locked
//! file may have been removed by its last holder, and another have come in its place: what was
//! locked counts only while the path still leads to it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How often a lock that somebody else has is asked for.
const STEP: Duration = Duration::from_millis(20);

/// After how long the wait is told.
const QUIET: Duration = Duration::from_secs(5);

/// The right to make what a file is named after. The file is removed when this is dropped.
#[derive(Debug)]
pub struct LockGuard {
    path: PathBuf,
    /// Locked until dropped; none where the file system knows no locks.
    lock: Option<File>,
}

impl LockGuard {
    /// Waits while somebody else has it; none if that is longer than the limit.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn wait(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
        patiently(path, limit, || Self::attempt(path))
    }

    /// None while somebody else has it.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn attempt(path: &Path) -> io::Result<Option<Self>> {
        let turn = |lock| Self { path: path.to_owned(), lock };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(leads_to(path, &file).then(|| turn(Some(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some network file systems know no locks. Two processes may then make the same
            // thing, and the first to rename it into place wins.
            Err(TryLockError::Error(error)) if is_lockless(&error) => Ok(Some(turn(None))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// A turn where no locks are known, which others may have, too.
    #[cfg(test)]
    pub(crate) fn lockless(path: &Path) -> Self {
        Self { path: path.to_owned(), lock: None }
    }

    /// Whether nobody else can have it meanwhile.
    pub fn is_exclusive(&self) -> bool {
        self.lock.is_some()
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        // Where it cannot be removed, it stays, and the next one locks it.
        drop(fs::remove_file(&self.path));
    }
}

/// Asks until there is something; none when the limit has passed.
fn patiently<T>(
    path: &Path,
    limit: Duration,
    mut ask: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    let start = Instant::now();
    let mut is_told = false;
    loop {
        let found = ask()?;
        if found.is_some() || start.elapsed() >= limit {
            return Ok(found);
        }
        thread::sleep(STEP);
        if !is_told && start.elapsed() >= QUIET {
            crate::note(format_args!(
                "waiting for another process that has locked {}",
                path.display()
            ));
            is_told = true;
        }
    }
}

/// Whether the file system knows no locks.
pub(crate) fn is_lockless(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}

/// Opens a file that is not to be removed as long as it stays open.
///
/// # Errors
/// `NotFound` when it is not there, or about to be removed.
pub fn hold(path: &Path) -> io::Result<File> {
    let gone = || io::Error::new(io::ErrorKind::NotFound, "about to be removed");
    let file = File::open(path)?;
    match file.try_lock_shared() {
        Ok(()) if leads_to(path, &file) => Ok(file),
        Ok(()) | Err(TryLockError::WouldBlock) => Err(gone()),
        // Without locks the holder has to be lucky: what is used last is removed last.
        Err(TryLockError::Error(error)) if is_lockless(&error) => Ok(file),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether another process holds a file.
#[derive(Debug)]
pub enum Taken {
    /// It does, or may be about to.
    Held,
    /// None does, and none can while the file stays open; no file where it is not there, or where no locks are known.
    Free(Option<File>),
}

/// Takes a file that nobody holds.
///
/// # Errors
/// When it can neither be opened nor is absent.
pub fn take(path: &Path) -> io::Result<Taken> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Taken::Free(None)),
        file => file?,
    };
    match file.try_lock() {
        Ok(()) if leads_to(path, &file) => Ok(Taken::Free(Some(file))),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(Taken::Held),
        Err(TryLockError::Error(error)) if is_lockless(&error) => Ok(Taken::Free(None)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// How long it takes until what lies under a lock that tells nothing is taken for left over.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// Whether something was last touched so long ago that nobody is making it any longer.
pub fn is_old(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|it| it.modified());
    modified.is_ok_and(|then| then.elapsed().is_ok_and(|age| age >= PATIENCE))
}

/// Whether whoever held `lock` while making `partial` has ended.
pub fn is_left_over(lock: &Path, partial: &Path) -> bool {
    match take(lock) {
        Ok(Taken::Free(Some(_))) => true,
        Ok(Taken::Free(None)) => !lock.exists() || is_old(partial),
        Ok(Taken::Held) | Err(_) => false,
    }
}

pub(crate) fn leads_to(path: &Path, file: &File) -> bool {
    let identity = |it: fs::Metadata| (it.dev(), it.ino());
    match (fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(here)) => identity(there) == identity(here),
        _ => false,
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
