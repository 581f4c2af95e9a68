//! The checkouts of commits that are compared, one folder each, kept for the next comparison.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::git;
use crate::partial;
use crate::size;
use crate::workspace::Workspace;

/// The worktrees of one clone, which one command at a time has.
pub struct Worktrees {
    folder: PathBuf,
    _claim: Claim,
}

impl Worktrees {
    /// They lie below what cargo builds, as they can be made again.
    pub fn claim(target: &Path) -> Result<Self> {
        let claim = Claim::take(&target.join("compare.lock"))?;
        Ok(Self { folder: target.join("compare"), _claim: claim })
    }

    /// A checkout of `commit` of the clone at `root`, in a folder called `short`.
    pub fn provide(&self, root: &Path, commit: &str, short: &str) -> Result<PathBuf> {
        let place = self.folder.join(short);
        if place.exists() && is_unfinished(&place)? {
            eprintln!("{} was not checked out to the end, doing it again", place.display());
            remove(root, &place)?;
        }
        if place.exists() {
            check(&place, commit)?;
        } else {
            eprintln!("checking out {short} in {}", place.display());
            // Forced: cargo clean takes a worktree away behind git's back. Twice: also a locked one.
            let add = ["worktree", "add", "--quiet", "--force", "--force", "--detach"];
            let arguments = [&add.map(Path::new)[..], &[&place, Path::new(commit)]].concat();
            git::git(root, &arguments)?;
        }
        if Workspace::around(&place)?.root() != place {
            return Err(Error::new(format!(
                "{} has no Cargo.toml with [workspace], so it is no revision of this project",
                place.display()
            )));
        }
        note_configuration(root, &place)?;
        Ok(place)
    }

    /// `--clean`: removes all of them, with whatever is in them.
    pub fn clean(&self, root: &Path) -> Result<()> {
        let listed = listed(root, &self.folder)?;
        let folders = folders(&self.folder)?;
        if listed.is_empty() && folders.is_empty() {
            eprintln!("there are no worktrees in {}", self.folder.display());
        }
        for place in &folders {
            let bytes = size::on_disk(place);
            let bytes = bytes.map_err(|error| Error::io("measure", place, &error))?;
            if is_worktree(place)? {
                remove(root, place)?;
            } else {
                partial::remove(place)?;
            }
            eprintln!("removed {}, {}", place.display(), size::human(bytes));
        }
        // Git still knows of folders that somebody has removed by hand.
        for place in self::listed(root, &self.folder)? {
            remove(root, &place)?;
            eprintln!("{} was gone, git knows now", place.display());
        }
        partial::remove(&self.folder)
    }
}

/// Also a locked one, one that was changed, and one that is gone.
fn remove(root: &Path, place: &Path) -> Result<()> {
    let remove = ["worktree", "remove", "--force", "--force"].map(Path::new);
    git::git(root, &[&remove[..], &[place]].concat()).map(|_| ())
}

/// Checks that nobody has worked in there.
fn check(place: &Path, commit: &str) -> Result<()> {
    let changed = |how: String| {
        Err(Error::new(format!("{} {how}", place.display()))
            .remedy("move away what is yours in there, then: cargo xtask compare-branches --clean"))
    };
    if !is_worktree(place)? {
        return changed("is no whole worktree".to_owned());
    }
    let head = git::git(place, &["rev-parse", "HEAD"])?;
    if head != commit {
        return changed(format!("is called after a commit, but {head} is checked out there"));
    }
    // Older commits do not ignore what is put there.
    let status = ["-c", "core.quotePath=false", "status", "--porcelain", "--"];
    let status = [&status[..], &[".", ":!/.libtorch", ":!/target"]].concat();
    match git::git(place, &status)?.as_str() {
        "" => Ok(()),
        status => changed(format!("is not as it was checked out: {}", few(status))),
    }
}

/// The first of many lines, in one.
fn few(lines: &str) -> String {
    const SHOWN: usize = 5;
    let all = lines.lines().collect::<Vec<_>>();
    let rest = all.len().saturating_sub(SHOWN);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    format!("{}{more}", all[..all.len() - rest].join(", "))
}

/// Whether git takes the folder for a worktree, and not for a part of the checkout around it.
fn is_worktree(place: &Path) -> Result<bool> {
    let top = git::ask(place, &["rev-parse", "--show-toplevel"])?;
    let place = place.canonicalize().map_err(|error| Error::io("resolve", place, &error))?;
    Ok(top.is_some_and(|top| Path::new(&top) == place))
}

/// Whether git was killed while it checked out: it locks a worktree for that time, with this reason.
fn is_unfinished(place: &Path) -> Result<bool> {
    if !is_worktree(place)? {
        return Ok(false);
    }
    let lock = Path::new(&git::git(place, &["rev-parse", "--absolute-git-dir"])?).join("locked");
    match fs::read_to_string(&lock) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        reason => {
            let reason = reason.map_err(|error| Error::io("read", &lock, &error))?;
            Ok(reason.trim() == "initializing")
        }
    }
}

/// The worktrees that git knows in `folder`, whether they are there or not.
fn listed(root: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let list = git::git(root, &["worktree", "list", "--porcelain"])?;
    let places = list.lines().filter_map(|line| line.strip_prefix("worktree "));
    // Git resolves links, and so it has what is no longer there.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    Ok(places.map(PathBuf::from).filter(|place| place.starts_with(&folder)).collect())
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error| Error::io("read", folder, &error);
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries
            .map_err(unreadable)?
            .map(|entry| entry.map(|it| it.path()).map_err(unreadable))
            .collect(),
    }
}

/// Cargo merges the configuration of all folders above into that of the one where it runs.
fn note_configuration(root: &Path, place: &Path) -> Result<()> {
    let configuration = |folder: &Path| {
        let path = folder.join(".cargo/config.toml");
        match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(|error| Error::io("read", &path, &error)),
        }
    };
    // `target` may be a link to another disk.
    let real = place.canonicalize().map_err(|error| Error::io("resolve", place, &error))?;
    if real.starts_with(root) && configuration(root)? != configuration(place)? {
        eprintln!(
            "note: .cargo/config.toml of {} differs from that of {}, and cargo goes by both there: \
             flags that only the latter has are in force for both sides",
            place.display(),
            root.display()
        );
    }
    Ok(())
}
