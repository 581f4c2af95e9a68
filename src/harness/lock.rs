//! One run at a time in a target folder: criterion's files and the records are shared by all runs.
//!
//! The system drops the lock when its holder ends, in whatever way, so it is never stale. The file
//! stays; only a held lock makes it true.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

const FILE: &str = "lock";

/// A run as it introduces itself to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub pid: u32,
    pub run_id: String,
    pub target: String,
    /// Seconds since the Unix epoch.
    pub started: u64,
}

impl Run {
    /// The run of this process, from now on.
    pub fn new(target: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let pid = std::process::id();
        let run_id = format!("{target}-{}-{pid}", now.as_millis());
        Self { pid, run_id, target: target.to_owned(), started: now.as_secs() }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, target, started, .. } = self;
        let (hour, minute) = (started / 3600 % 24, started / 60 % 60);
        write!(f, "process {pid}, which measures `{target}` since {hour:02}:{minute:02} UTC")
    }
}

/// The lock of a run that measures, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    /// None where the file system knows no locks.
    file: Option<File>,
}

impl Lock {
    /// Takes the lock of `folder` for `run`; while another run has it, `waits` or fails.
    pub fn take(folder: &Path, run: &Run, waits: bool) -> Result<Self, String> {
        let path = folder.join(FILE);
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        let open = || {
            fs::create_dir_all(folder)?;
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)
        };
        let mut file = open().map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = holder(&mut file);
                if !waits {
                    return Err(format!(
                        "{} is locked by {holder}. Two runs in one folder would overwrite each \
                         other's results: wait for it to end, run with `--wait`, or give this run \
                         a folder of its own (CRITERION_HOME, or CARGO_TARGET_DIR)",
                        path.display()
                    ));
                }
                eprintln!("waiting for {holder}");
                patiently(&file).map_err(failed)?;
            }
            // As on some network file systems.
            Err(TryLockError::Error(error)) => {
                eprintln!(
                    "note: {} cannot be locked ({error}); make sure that no other run measures \
                     here",
                    path.display()
                );
                return Ok(Self { file: None });
            }
        }
        introduce(&mut file, run).map_err(failed)?;
        Ok(Self { file: Some(file) })
    }

    /// Whether no other run can have it meanwhile.
    pub fn is_exclusive(&self) -> bool {
        self.file.is_some()
    }
}

/// The run that holds the lock; it may not have written its name yet.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.read_to_string(&mut text).ok();
    let run = read.and_then(|_| serde_json::from_str::<Run>(&text).ok());
    run.map_or_else(|| "another run".to_owned(), |run| run.to_string())
}

fn patiently(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            ended => return ended,
        }
    }
}

fn introduce(file: &mut File, run: &Run) -> io::Result<()> {
    use std::io::Seek as _;
    let text = serde_json::to_string(run).map_err(io::Error::other)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{text}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pid: u32) -> Run {
        Run { pid, run_id: format!("fusion-{pid}"), target: "fusion".to_owned(), started: 3661 }
    }

    #[test]
    fn a_second_run_is_told_who_measures() {
        let folder = tempfile::tempdir().unwrap();
        let records = folder.path().join("criterion-torch");
        let first = Lock::take(&records, &run(4242), false).unwrap();
        assert!(first.is_exclusive());
        let error = Lock::take(&records, &run(1), false).unwrap_err();
        for text in ["process 4242", "`fusion` since 01:01 UTC", "--wait", "CRITERION_HOME"] {
            assert!(error.contains(text), "{error}");
        }
        drop(first);
        // Shorter than what stood there, and nothing of that is left.
        let second = Lock::take(&records, &run(7), false).unwrap();
        let text = fs::read_to_string(records.join(FILE)).unwrap();
        assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run(7));
        drop(second);
        assert!(records.join(FILE).exists(), "the file is never deleted");
    }

    #[test]
    fn a_holder_that_has_not_said_who_it_is_is_another_run() {
        let folder = tempfile::tempdir().unwrap();
        let held = File::create(folder.path().join(FILE)).unwrap();
        held.lock().unwrap();
        let error = Lock::take(folder.path(), &run(1), false).unwrap_err();
        assert!(error.contains("is locked by another run"), "{error}");
    }
}
