//! The revisions that are compared, and the names of their results.

use std::ffi::OsStr;
use std::path::Path;

use crate::error::{Error, Result};
use plan::{git, history};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// By the user.
    said: String,
    /// None: the checkout as it lies here, with what is not committed.
    pub commit: Option<String>,
}

/// How the checkout is named on the command line.
const HERE: &str = ".";
/// How its results are.
const WORKING_TREE: &str = "working-tree";
/// Digits of a commit, as many as in the records.
const SHORT: usize = 12;

impl Revision {
    /// By what is known to the repository around `folder`.
    pub fn resolve(folder: &Path, said: &str) -> Result<Self> {
        let said = said.to_owned();
        if said == HERE {
            return Ok(Self { said, commit: None });
        }
        let Some(commit) = history::commit(folder, &said)? else {
            return Err(unknown(folder, &said)?);
        };
        // Git takes the tag, and who is on the branch may not think of it.
        if let Some(branch) = history::commit(folder, &format!("refs/heads/{said}"))?
            && branch != commit
        {
            return Err(Error::usage(format!("there are a branch and a tag \"{said}\""))
                .remedy(format!("name the one that you mean: heads/{said} or tags/{said}")));
        }
        Ok(Self { said, commit: Some(commit) })
    }

    /// The first digits of its commit.
    pub fn short(&self) -> Option<&str> {
        self.commit.as_deref().map(|commit| commit.get(..SHORT).unwrap_or(commit))
    }

    /// Letters, digits, `-`, `_` and `.` of what was said, or the commit, if that was said.
    fn name(&self) -> String {
        let Some(commit) = &self.commit else { return WORKING_TREE.to_owned() };
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = self.said.chars().map(|c| if plain(c) { c } else { '-' }).collect();
        let name = name.trim_matches(['-', '.']);
        match self.short() {
            Some(short) if name.is_empty() || commit.starts_with(name) => short.to_owned(),
            _ => name.to_owned(),
        }
    }
}

/// A commit, on no branch, of a checkout as it lies here: with all that git does not ignore, but for what cargo builds in
/// `target`.
pub fn snapshot(folder: &Path, target: &Path) -> Result<String> {
    let index = tempfile::tempdir();
    let index = index.map_err(|error| Error::new(format!("no folder for git's index: {error}")))?;
    let (index, name) = (index.path().join("index"), OsStr::new("compare-branches"));
    let variables = [
        ("GIT_INDEX_FILE", index.as_os_str()),
        ("GIT_AUTHOR_NAME", name),
        ("GIT_AUTHOR_EMAIL", name),
        ("GIT_COMMITTER_NAME", name),
        ("GIT_COMMITTER_EMAIL", name),
    ];
    let git = |arguments: &[&str]| git::git_with(folder, arguments, &variables);
    git(&["read-tree", "HEAD"])?;
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let built = target.canonicalize().unwrap_or_else(|_| target.to_owned());
    let is_ignored = || git::ask(folder, &[Path::new("check-ignore"), &built]);
    // Git refuses to leave out what it ignores.
    let is_left_out = built.starts_with(top) && is_ignored()?.is_none();
    let built = is_left_out.then(|| format!(":(exclude,literal){}", built.display()));
    let add = ["add", "--all", ":/"].into_iter().chain(built.as_deref());
    git(&add.collect::<Vec<_>>())?;
    let tree = git(&["write-tree"])?;
    Ok(git(&["commit-tree", "-p", "HEAD", "-m", "checkout as it lies here", &tree])?)
}

fn unknown(folder: &Path, said: &str) -> Result<Error> {
    // Also where there is no repository, or one that git does not trust: it says so.
    let shallow = git::git(folder, &["rev-parse", "--is-shallow-repository"])? == "true";
    let what = format!("there is no commit \"{said}\" in the repository of {}", folder.display());
    let error = Error::usage(what);
    let error = match shallow {
        true => error.remedy("this clone has the latest commits only: git fetch --unshallow"),
        false => error.remedy("it may not be fetched yet: git fetch"),
    };
    Ok(error.remedy("a branch that was never checked out here is known as origin/NAME"))
}

/// Under which names two revisions are kept: different ones, also where letters have no case.
pub fn names(revisions: &[Revision; 2]) -> [String; 2] {
    let [a, b] = revisions;
    let names = revisions.each_ref().map(Revision::name);
    if names[0].to_lowercase() != names[1].to_lowercase() {
        return names;
    }
    if a.commit == b.commit {
        return [format!("{}-a", names[0]), format!("{}-b", names[1])];
    }
    // At most one of them is the checkout: the other has a commit.
    [a, b].map(|it| it.short().map_or_else(|| it.name(), |short| format!("{}-{short}", it.name())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: &str = "0123456789abcdef0123456789abcdef01234567";
    const Y: &str = "89abcdef0123456789abcdef0123456789abcdef";

    fn named(a: (&str, Option<&str>), b: (&str, Option<&str>)) -> String {
        let revision = |(said, commit): (&str, Option<&str>)| Revision {
            said: said.to_owned(),
            commit: commit.map(str::to_owned),
        };
        names(&[revision(a), revision(b)]).join(" ")
    }

    #[test]
    fn names_are_those_that_were_said_as_far_as_folders_can_be_called_so() {
        for (a, b, named_as) in [
            ("main", "feature/x", "main feature-x"),
            ("HEAD~1", "origin/pr-1_a.b", "HEAD-1 origin-pr-1_a.b"),
            ("v1.0", "main@{yesterday}", "v1.0 main--yesterday"),
            ("0123456", "89abcdef0123456789abcdef0123456789abcdef", "0123456789ab 89abcdef0123"),
            ("@", "Übung", "0123456789ab Übung"),
        ] {
            assert_eq!(named((a, Some(X)), (b, Some(Y))), named_as);
        }
        assert_eq!(named(("main", Some(X)), (".", None)), "main working-tree");
    }

    #[test]
    fn no_two_are_called_the_same() {
        for (a, b, named_as) in [
            (("HEAD", Some(X)), ("HEAD^", Some(Y)), "HEAD-0123456789ab HEAD-89abcdef0123"),
            (("Fix", Some(X)), ("fix", Some(Y)), "Fix-0123456789ab fix-89abcdef0123"),
            ((".", None), ("working-tree", Some(Y)), "working-tree working-tree-89abcdef0123"),
            (("main", Some(X)), ("main", Some(X)), "main-a main-b"),
            (("a/b", Some(X)), ("a-b", Some(X)), "a-b-a a-b-b"),
            ((".", None), (".", None), "working-tree-a working-tree-b"),
            (("main", Some(X)), ("0123456789", Some(X)), "main 0123456789ab"),
        ] {
            assert_eq!(named(a, b), named_as);
        }
    }
}
