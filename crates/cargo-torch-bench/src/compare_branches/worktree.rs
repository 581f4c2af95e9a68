//! The checkouts of commits that are compared, one folder each, kept for the next comparison.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files;
use crate::folder_lock::FolderLock;
use crate::human;
use crate::template;
use crate::workspace::Workspace;
use plan::git;

/// The worktrees of one clone, which one command at a time has.
pub struct Worktrees {
    folder: PathBuf,
    _claim: FolderLock,
}

/// The name of the worktree that is built in.
const BUILD: &str = "build";

impl Worktrees {
    /// They lie below what cargo builds, as they can be made again.
    pub fn claim(target: &Path) -> Result<Self> {
        let claim = FolderLock::take(&target.join("compare.lock"))?;
        let folder = target.join("compare");
        if folder.is_symlink() {
            let what = "is a link, and what is behind it may be somebody else's";
            return Err(Error::new(format!("{} {what}", folder.display()))
                .remedy(format!("remove the link: rm {}", template::path(&folder))));
        }
        Ok(Self { folder, _claim: claim })
    }

    /// A checkout of `commit` of the clone at `root`, in a folder called `short`. Worktrees named
    /// in `needed` stay.
    pub fn provide(
        &self,
        root: &Path,
        commit: &str,
        short: &str,
        needed: &[&str],
    ) -> Result<PathBuf> {
        let place = self.folder.join(short);
        if place.exists() && is_unfinished(&place)? {
            eprintln!("{} was not checked out completely, checking it out again", place.display());
            remove(root, &place)?;
        }
        if place.exists() {
            check(&place, commit)?;
        } else if let Some(earlier) = self.idle(needed)? {
            eprintln!("checking out {short} in {}, as {}", earlier.display(), place.display());
            git::git(&earlier, &["checkout", "--quiet", "--detach", commit])?;
            let rename = ["worktree", "move", "--force", "--force"].map(Path::new);
            git::git(root, &[&rename[..], &[&earlier, &place]].concat())?;
        } else {
            eprintln!("checking out {short} in {}", place.display());
            add(root, &place, commit)?;
        }
        let project = project(root, &place)?;
        if Workspace::find_from(&project)?.root() != project {
            return Err(Error::new(format!(
                "{} is not the root of a workspace or package, so it is no revision of this project",
                project.display()
            )));
        }
        Ok(project)
    }

    /// One checkout in which both sides are built, one after the other: what they have in common is built once, and in
    /// one place, so that equal sources give equal programs. Returns the project in it.
    pub fn build_in(&self, root: &Path, commit: &str) -> Result<PathBuf> {
        let place = self.folder.join(BUILD);
        if !is_worktree(&place)? {
            // Git would take the checkout around it.
            files::remove_folder(&place)?;
        } else if is_unfinished(&place)? {
            remove(root, &place)?;
        }
        if place.exists() {
            git::git(&place, &["checkout", "--quiet", "--force", "--detach", commit])?;
        } else {
            add(root, &place, commit)?;
        }
        let project = project(root, &place)?;
        lock(root, &project)?;
        note_configuration(root, &project)?;
        Ok(project)
    }

    /// Criterion's folder of a side's processes.
    pub fn home(&self, side: usize) -> PathBuf {
        self.folder.join(format!("programs-{side}")).join("criterion")
    }

    /// A folder for the programs of a side, by its index, without those of earlier comparisons.
    pub fn programs(&self, side: usize) -> Result<PathBuf> {
        let place = self.folder.join(format!("programs-{side}"));
        files::remove_folder(&place)?;
        files::make_folder(&place)?;
        Ok(place)
    }

    /// A worktree that this comparison does not need.
    fn idle(&self, needed: &[&str]) -> Result<Option<PathBuf>> {
        for place in files::inside(&self.folder)? {
            let name = files::name(&place);
            if name != BUILD && !needed.contains(&name.as_str()) && fault(&place, &name)?.is_none()
            {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// `--clean`: removes all of them, with whatever is in them.
    pub fn clean(&self, root: &Path) -> Result<()> {
        let listed = listed(root, &self.folder)?;
        let folders = files::inside(&self.folder)?;
        if listed.is_empty() && folders.is_empty() {
            eprintln!("there are no worktrees in {}", self.folder.display());
        }
        for place in &folders {
            let bytes = files::on_disk(place);
            let bytes = bytes.map_err(|error| Error::io("measure", place, &error))?;
            if is_worktree(place)? {
                remove(root, place)?;
            } else {
                files::remove_folder(place)?;
            }
            eprintln!("removed {}, {}", place.display(), human::bytes(bytes));
        }
        // Git still knows of folders that somebody has removed by hand.
        for place in self::listed(root, &self.folder)? {
            remove(root, &place)?;
            eprintln!("{} no longer exists, removed from git's list of worktrees", place.display());
        }
        files::remove_folder(&self.folder)
    }
}

fn add(root: &Path, place: &Path, commit: &str) -> Result<()> {
    // Forced: cargo clean takes a worktree away behind git's back. Twice: also a locked one.
    let add = ["worktree", "add", "--quiet", "--force", "--force", "--detach"];
    let arguments = [&add.map(Path::new)[..], &[place, Path::new(commit)]].concat();
    git::git(root, &arguments)?;
    Ok(())
}

/// The folder in a worktree that `root` is in its own.
fn project(root: &Path, place: &Path) -> Result<PathBuf> {
    let top = PathBuf::from(git::git(root, &["rev-parse", "--show-toplevel"])?);
    let root = root.canonicalize().map_err(|error| Error::io("resolve", root, &error))?;
    Ok(root
        .strip_prefix(top)
        .map_or_else(|_| place.to_owned(), |inside| place.join(inside).components().collect()))
}

/// Gives a worktree the lock file of the checkout, if its commit has none: both sides are to have the same dependencies.
fn lock(root: &Path, project: &Path) -> Result<()> {
    let [from, to] = [root, project].map(|folder| folder.join("Cargo.lock"));
    // One that is there and not the commit's was put there for an earlier comparison.
    let is_tracked = git::ask(project, &["ls-files", "--error-unmatch", "Cargo.lock"])?.is_some();
    if is_tracked || !from.exists() {
        return Ok(());
    }
    fs::copy(&from, &to).map(drop).map_err(|error| Error::io("copy", &from, &error))
}

/// Also a locked one, one that was changed, and one that is gone.
fn remove(root: &Path, place: &Path) -> Result<()> {
    let remove = ["worktree", "remove", "--force", "--force"].map(Path::new);
    git::git(root, &[&remove[..], &[place]].concat())?;
    Ok(())
}

/// Checks that nobody has worked in there.
fn check(place: &Path, commit: &str) -> Result<()> {
    fault(place, commit)?.map_or(Ok(()), |how| {
        Err(Error::new(format!("{} {how}", place.display()))
            .remedy("move your own files out of it, then: cargo xtask compare-branches --clean"))
    })
}

/// In what a folder differs from a checkout of the commit that begins with these digits.
fn fault(place: &Path, commit: &str) -> Result<Option<String>> {
    if !is_worktree(place)? {
        return Ok(Some("is not a complete worktree".to_owned()));
    }
    let head = git::git(place, &["rev-parse", "HEAD"])?;
    if !head.starts_with(commit) {
        let what = format!("is named after a commit, but {head} is checked out there");
        return Ok(Some(what));
    }
    // Older commits do not ignore what is put there.
    let status = ["-c", "core.quotePath=false", "status", "--porcelain", "--"];
    let put = ["target", "Cargo.lock", ".libtorch"].map(|it| format!(":(exclude,glob)**/{it}"));
    let put = put.each_ref().map(String::as_str);
    let status = [&status[..], &["."], &put].concat();
    let status = git::git(place, &status)?;
    Ok((!status.is_empty()).then(|| format!("has changes: {}", few(&status))))
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
    // The target of a link is not ours.
    if place.is_symlink() || !place.exists() {
        return Ok(false);
    }
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
            "note: .cargo/config.toml of {} differs from that of {}, and cargo reads both there: \
             flags that only the latter has apply to both sides",
            place.display(),
            root.display()
        );
    }
    Ok(())
}
