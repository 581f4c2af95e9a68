//! An installation in progress: a folder beside its final place, named for the process that fills it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use crate::error::{Error, Result};

/// Between the name of the final place and the process id.
pub const PARTIAL: &str = ".partial-";

/// Removed when dropped, unless it was moved into place.
#[derive(Debug)]
pub struct Partial {
    dir: PathBuf,
    moved: bool,
}

impl Partial {
    /// An empty folder beside `place`.
    pub fn beside(place: &Path) -> Result<Self> {
        let dir = path_beside(place);
        remove(&dir)?;
        fs::create_dir_all(&dir).map_err(|error| Error::io("create", &dir, &error))?;
        Ok(Self { dir, moved: false })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The one step by which an installation becomes visible. False if `place` is taken by then.
    pub fn move_to(mut self, place: &Path) -> Result<bool> {
        match fs::rename(&self.dir, place) {
            Ok(()) => {
                self.moved = true;
                Ok(true)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(Error::io("move the installation to", place, &error)),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.moved
            && let Err(error) = remove(&self.dir)
        {
            eprint!("{error}");
        }
    }
}

fn path_beside(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(format!("{PARTIAL}{}", process::id()));
    PathBuf::from(name)
}

/// Takes a broken installation out of its place. Renamed first: one that is half removed could pass
/// for whole.
pub fn remove_broken(place: &Path) -> Result<()> {
    let aside = path_beside(place);
    remove(&aside)?;
    fs::rename(place, &aside).map_err(|error| Error::io("move away", place, &error))?;
    remove(&aside)
}

/// Whether a name is that of an unfinished installation.
pub fn is_partial(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(PARTIAL))
}

/// Whether the process of an unfinished installation has ended. Our own process id means a dead
/// namesake: containers hand out the same few ids again and again.
pub fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split_once(PARTIAL).is_some_and(|(_, pid)| match pid.parse::<u32>() {
        Ok(pid) => pid == process::id() || !is_alive(pid),
        Err(_) => false,
    })
}

fn is_alive(pid: u32) -> bool {
    if Path::new("/proc/self").exists() {
        return fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !is_zombie(&stat));
    }
    // Without /proc: signal 0 tells. When in doubt the folder stays.
    Command::new("kill").args(["-0", &pid.to_string()]).output().is_ok_and(|o| o.status.success())
}

/// A killed process that its parent has not collected, which some containers never do. The state
/// follows the program's name, which is in parentheses and may itself hold anything.
fn is_zombie(stat: &str) -> bool {
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

/// Removes a folder that may be gone already.
pub fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", dir, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("xtask-partial-{name}-{}", process::id()));
        fs::create_dir_all(&dir).expect("make a scratch folder");
        dir
    }

    #[test]
    fn only_dead_processes_leave_leftovers() {
        let mut child = Command::new("true").spawn().expect("run `true`");
        let dead = child.id();
        child.wait().expect("wait for `true`");
        for (name, leftover) in [
            (format!("torch-2.11.0-cpu.partial-{dead}"), true),
            (format!("torch-2.11.0-cpu.partial-{}", process::id()), true),
            (format!("torch-2.11.0-cpu.partial-{}", std::os::unix::process::parent_id()), false),
            ("torch-2.11.0-cpu.partial-x".into(), false),
            ("torch-2.11.0-cpu".into(), false),
        ] {
            assert_eq!(is_leftover(&Path::new("/cache").join(&name)), leftover, "{name}");
        }
    }

    #[test]
    fn a_process_that_nobody_collects_is_dead() {
        assert!(is_zombie("42 (xtask) Z 1 42 42 0"));
        assert!(is_zombie("42 (odd) S name) Z 1 42"));
        assert!(!is_zombie("42 (Z) S 1 42 42 0"));
    }

    #[test]
    fn a_partial_that_is_given_up_leaves_nothing() {
        let cache = scratch("dropped");
        let partial = Partial::beside(&cache.join("torch")).expect("make a partial");
        fs::write(partial.dir().join("file"), "x").expect("fill it");
        drop(partial);
        assert_eq!(fs::read_dir(&cache).expect("list the scratch folder").count(), 0);
        fs::remove_dir_all(&cache).expect("remove the scratch folder");
    }

    #[test]
    fn the_first_to_move_wins_and_the_second_gives_up() {
        let cache = scratch("moved");
        let place = cache.join("torch");
        for (text, wins) in [("first", true), ("second", false)] {
            let partial = Partial::beside(&place).expect("make a partial");
            fs::write(partial.dir().join("file"), text).expect("fill it");
            assert_eq!(partial.move_to(&place), Ok(wins), "{text}");
        }
        assert_eq!(fs::read_to_string(place.join("file")).expect("read"), "first");
        assert_eq!(fs::read_dir(&cache).expect("list the scratch folder").count(), 1);
        remove_broken(&place).expect("take it away");
        assert_eq!(fs::read_dir(&cache).expect("list the scratch folder").count(), 0);
        fs::remove_dir_all(&cache).expect("remove the scratch folder");
    }
}
