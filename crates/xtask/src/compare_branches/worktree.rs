//! The checkouts of commits that are compared, one folder each, kept for the next comparison.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::git;
use crate::link::Link;
use crate::partial;
use crate::results;
use crate::size;
use crate::workspace::Workspace;

/// Where they lie: below what cargo builds, as they can be made again.
fn folder(root: &Path) -> PathBuf {
    results::target(root).join("compare")
}

/// A checkout of `commit` in a folder called `short`, with the libtorch of `workspace`.
pub fn provide(workspace: &Workspace, commit: &str, short: &str) -> Result<PathBuf> {
    let place = folder(workspace.root()).join(short);
    if place.exists() {
        check(&place, commit)?;
    } else {
        eprintln!("checking out {short} in {}", place.display());
        // Forced: cargo clean takes a worktree away behind git's back.
        let add = ["worktree", "add", "--quiet", "--force", "--detach"].map(Path::new);
        let arguments = [&add[..], &[&place, Path::new(commit)]].concat();
        git::git(workspace.root(), &arguments)?;
    }
    link(workspace, &place)?;
    Ok(place)
}

/// That nobody has worked in there.
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
    let status = ["status", "--porcelain", "--", ".", ":!/.libtorch", ":!/target"];
    match git::git(place, &status)?.as_str() {
        "" => Ok(()),
        status => changed(format!("is not as it was checked out: {}", status.replace('\n', ", "))),
    }
}

/// Whether git takes the folder for a worktree, and not for a part of the checkout around it.
fn is_worktree(place: &Path) -> Result<bool> {
    let top = git::ask(place, &["rev-parse", "--show-toplevel"])?;
    let place = place.canonicalize().map_err(|error| Error::io("resolve", place, &error))?;
    Ok(top.is_some_and(|top| Path::new(&top) == place))
}

fn link(workspace: &Workspace, place: &Path) -> Result<()> {
    let there = Workspace::around(place)?;
    if there.root() != place {
        return Err(Error::new(format!(
            "{} has no Cargo.toml with [workspace], so it is no revision of this project",
            place.display()
        )));
    }
    match Link::read(workspace)? {
        // A libtorch of the user's own, which LIBTORCH names for all.
        Link::Absent => Ok(()),
        Link::To(libtorch) if Link::read(&there)? == Link::To(libtorch.clone()) => Ok(()),
        Link::To(libtorch) => Link::write(&there, &libtorch),
    }
}

/// `--clean`: removes all of them, with whatever is in them.
pub fn clean(root: &Path) -> Result<()> {
    let folder = folder(root);
    let unreadable = |error| Error::io("read", &folder, &error);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("there are no worktrees in {}", folder.display());
            return Ok(());
        }
        entries => entries.map_err(unreadable)?,
    };
    for entry in entries {
        let place = entry.map_err(unreadable)?.path();
        let bytes = size::on_disk(&place).map_err(|error| Error::io("measure", &place, &error))?;
        if is_worktree(&place)? {
            let remove = ["worktree", "remove", "--force", "--force"].map(Path::new);
            git::git(root, &[&remove[..], &[&place]].concat())?;
        } else {
            partial::remove(&place)?;
        }
        eprintln!("removed {}, {}", place.display(), size::human(bytes));
    }
    partial::remove(&folder)
}
