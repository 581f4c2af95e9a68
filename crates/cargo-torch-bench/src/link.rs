//! `.libtorch` in the clone: a symbolic link, replaced by rename so that it is never absent or half.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::workspace::Workspace;
use ::libtorch::partial::MARK;

/// The present state of `.libtorch`.
#[derive(Debug, PartialEq, Eq)]
pub enum Link {
    Absent,
    /// A symbolic link, perhaps to nowhere; the path is absolute.
    To(PathBuf),
}

impl Link {
    /// Refuses anything that is not a link: it is somebody's, and a rename could not replace it.
    pub fn read(workspace: &Workspace) -> Result<Self> {
        let path = workspace.link();
        match fs::read_link(&path) {
            Ok(target) => Ok(Self::To(workspace.root().join(target))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::Absent),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Err(Error::new(format!(
                "{} is not a symbolic link, so setup leaves it alone",
                path.display()
            ))
            .remedy("move it away and run this again")
            .remedy("if it is a libtorch of yours, set LIBTORCH to its new path as well")),
            Err(error) => Err(Error::io("read", &path, &error)),
        }
    }

    /// Makes or replaces the link.
    pub fn write(workspace: &Workspace, target: &Path) -> Result<()> {
        let path = workspace.link();
        let beside = tempfile::Builder::new()
            .prefix(&format!(".libtorch{MARK}"))
            .make_in(workspace.root(), |beside| symlink(target, beside))
            .map_err(|error| Error::io("create a link in", workspace.root(), &error))?;
        beside.persist(&path).map_err(|error| Error::io("replace", &path, &error.error))?;
        Ok(())
    }
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::Unsupported, "provisioning works on Linux and macOS only"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_made_replaced_and_read_and_a_folder_is_refused() {
        let root = std::env::temp_dir().join(format!("xtask-link-{}", std::process::id()));
        fs::create_dir_all(&root).expect("make a scratch folder");
        fs::write(root.join("Cargo.toml"), "[workspace]\n").expect("write a manifest");
        let workspace = Workspace::around(&root).expect("it is a workspace now");

        assert_eq!(Link::read(&workspace), Ok(Link::Absent));
        for target in ["/nowhere/one", "/nowhere/two"] {
            Link::write(&workspace, Path::new(target)).expect("link");
            assert_eq!(Link::read(&workspace), Ok(Link::To(target.into())));
        }
        assert_eq!(fs::read_dir(&root).expect("list").count(), 2, "nothing lies beside the link");

        fs::remove_file(workspace.link()).expect("unlink");
        fs::create_dir(workspace.link()).expect("make a folder in its place");
        let error = Link::read(&workspace).expect_err("a folder is not ours");
        assert!(error.what().ends_with("is not a symbolic link, so setup leaves it alone"));
        fs::remove_dir_all(&root).expect("remove the scratch folder");
    }
}
