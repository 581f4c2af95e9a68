//! A folder that one command at a time may work on.
//!
//! The system drops a claim when its holder has ended, in whatever way, and with it all to whom the
//! holder has passed it on: a claim is never stale, and not given up as long as anything still works.

use std::env;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use crate::error::{Error, Result};
use crate::files;
use crate::template;
use ::libtorch::command;

/// Held until dropped.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    file: File,
}

impl FolderLock {
    /// Claims what `path` stands for: a file, which is made if it is missing. The claim is refused
    /// while another command holds it.
    pub fn take(path: &Path) -> Result<Self> {
        let unusable = |error| Error::io("open", path, &error);
        if let Some(folder) = path.parent() {
            files::make_folder(folder)?;
        }
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut claim = Self { path: path.to_owned(), file: file.map_err(unusable)? };
        match claim.file.try_lock() {
            Ok(()) => claim.sign().map_err(|error| Error::io("write", path, &error))?,
            Err(TryLockError::WouldBlock) => return Err(claim.refused()),
            // Some network file systems know no locks.
            Err(TryLockError::Error(error)) => eprintln!(
                "note: {} cannot be locked ({error}): make sure that nothing else is measured here",
                path.display()
            ),
        }
        Ok(claim)
    }

    /// Says whose it is, for those who are refused.
    fn sign(&mut self) -> std::io::Result<()> {
        let words = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        let words = [command::name().to_owned()].into_iter().chain(words);
        let words = words.collect::<Vec<_>>().join(" ");
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "process {}: {words}", process::id())
    }

    fn refused(mut self) -> Error {
        let mut holder = String::new();
        let holder = match self.file.read_to_string(&mut holder) {
            Ok(1..) => holder.trim_end(),
            // It has not signed yet, or is unreadable to us.
            _ => "another process",
        };
        Error::usage(format!(
            "{} is held by {holder}, or by a process that it started",
            self.path.display()
        ))
        .remedy(
            "wait until that ends: two at once would slow each other down and mix what they leave",
        )
        .remedy(format!("to see which process it is: fuser -v {}", template::path(&self.path)))
    }

    /// The claim as what a child process reads: nothing of use to it, but held by it, too. So a
    /// child that still measures after its parent was killed does not count as ended.
    pub fn as_stdin(&self) -> Result<Stdio> {
        let file = self.file.try_clone();
        file.map(Stdio::from).map_err(|error| Error::io("pass on", &self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_claim_ends_with_the_last_who_holds_it() {
        let folder = env::temp_dir().join(format!("xtask-claim-{}", process::id()));
        let path = folder.join("inner/launches.lock");
        let claim = FolderLock::take(&path).expect("nobody has it");
        let refused = || FolderLock::take(&path).expect_err("it is held");
        assert_eq!(refused().exit_code(), 2);
        let holder = format!("is held by process {}: cargo xtask", process::id());
        assert!(refused().what().contains(&holder), "{}", refused());

        let stdin = claim.as_stdin().expect("pass it on");
        let mut child = Command::new("sleep").arg("60").stdin(stdin).spawn().expect("run sleep");
        drop(claim);
        refused();
        child.kill().expect("kill sleep");
        child.wait().expect("wait for sleep");
        // A child that another test starts has a copy until its own program runs.
        let is_free = || FolderLock::take(&path).is_ok();
        let freed = (0..1000).any(|_| {
            is_free() || {
                sleep(Duration::from_millis(10));
                false
            }
        });
        assert!(freed, "somebody has it still");
        fs::remove_dir_all(&folder).expect("remove the scratch folder");
    }
}
