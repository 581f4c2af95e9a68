//! The source of libtorch: the user chooses it with LIBTORCH, or else this tool does, and links it in the
//! workspace as `.libtorch`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::configuration::{self, Configured};
use crate::error::{Error, Result};
use crate::workspace::Workspace;
use ::libtorch::partial::MARK;
use ::libtorch::{Libtorch, VERSION};

#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// LIBTORCH as the user has set it. Nothing is provisioned.
    User(UserLibtorch),
    /// `.libtorch` in the workspace, which setup makes.
    Link,
}

/// The user's libtorch.
#[derive(Debug, PartialEq, Eq)]
pub struct UserLibtorch {
    pub libtorch: PathBuf,
    /// The file of cargo's configuration that names it, if the environment does not.
    file: Option<PathBuf>,
}

impl UserLibtorch {
    /// Says who names it.
    pub fn named_by(&self) -> String {
        match &self.file {
            None => "your own LIBTORCH".to_owned(),
            Some(file) => format!("LIBTORCH in {}", file.display()),
        }
    }

    /// The way back to a libtorch that is provisioned.
    fn remove(&self) -> String {
        let how = match &self.file {
            None => "unset LIBTORCH".to_owned(),
            Some(file) => format!("remove LIBTORCH from {}", file.display()),
        };
        format!("{how}, and libtorch is provisioned for you")
    }

    /// The libtorch, or why it cannot be used.
    pub fn inspect(&self) -> Result<Libtorch> {
        Libtorch::inspect(&self.libtorch).map_err(|error| {
            Error::new(format!("LIBTORCH is set, but cannot be used: {error}"))
                .remedy(self.remove())
                .remedy(format!("or set LIBTORCH to a libtorch {VERSION}"))
        })
    }
}

impl Source {
    pub fn of_environment(workspace: &Workspace) -> Result<Self> {
        let configured = configuration::libtorch(workspace.root())?;
        Self::new(workspace, std::env::var_os("LIBTORCH"), configured)
    }

    /// The link's own path is nobody's choice: .cargo/config.toml names it where the user has chosen none, and
    /// cargo sets LIBTORCH to it for what its alias runs.
    fn new(
        workspace: &Workspace,
        variable: Option<OsString>,
        configured: Option<Configured>,
    ) -> Result<Self> {
        let variable = variable.filter(|_| !configured.as_ref().is_some_and(|it| it.is_forced));
        let chosen = match (variable, configured) {
            (Some(variable), _) => UserLibtorch { libtorch: variable.into(), file: None },
            (None, Some(Configured { libtorch, file, .. })) => {
                UserLibtorch { libtorch, file: Some(file) }
            }
            (None, None) => return Ok(Self::Link),
        };
        if is_link(&chosen.libtorch, workspace.root()) {
            return Ok(Self::Link);
        }
        if chosen.libtorch.is_relative() {
            // torch-sys would take it from its own package folder, cargo from this one.
            return Err(Error::new(format!(
                "LIBTORCH is \"{}\", which is not an absolute path",
                chosen.libtorch.display()
            ))
            .remedy(chosen.remove())
            .remedy(format!("or set it to the full path of a libtorch {VERSION}")));
        }
        Ok(Self::User(chosen))
    }
}

/// The link itself must not be resolved: it may not exist yet, and it leads elsewhere.
fn is_link(value: &Path, root: &Path) -> bool {
    value.file_name().is_some_and(|name| name == ".libtorch")
        && value.parent().is_some_and(|parent| {
            parent == root
                || matches!((parent.canonicalize(), root.canonicalize()), (Ok(a), Ok(b)) if a == b)
        })
}

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

    /// Makes the link, or replaces it by a rename, so that it is never absent or half.
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
    fn only_the_path_of_the_link_is_nobodys_choice() {
        let workspace = Workspace::find_from(Path::new(env!("CARGO_MANIFEST_DIR")))
            .expect("the source tree has a root");
        let root = workspace.root().display().to_string();
        let of = |value: &str| Source::new(&workspace, Some(value.into()), None);
        let user = |libtorch: &str| {
            Ok(Source::User(UserLibtorch { libtorch: libtorch.into(), file: None }))
        };

        assert_eq!(Source::new(&workspace, None, None), Ok(Source::Link));
        assert_eq!(of(&format!("{root}/.libtorch")), Ok(Source::Link));
        assert_eq!(of(&format!("{root}/crates/../.libtorch")), Ok(Source::Link));
        assert_eq!(of("/opt/libtorch"), user("/opt/libtorch"));
        assert_eq!(of("/elsewhere/.libtorch"), user("/elsewhere/.libtorch"));
    }

    #[test]
    fn a_configured_libtorch_is_the_users_unless_it_is_the_link() {
        let workspace = Workspace::find_from(Path::new(env!("CARGO_MANIFEST_DIR")))
            .expect("the source tree has a root");
        let file = PathBuf::from("/x/.cargo/config.toml");
        let of = |variable: Option<&str>, libtorch: &Path, is_forced| {
            let libtorch = libtorch.to_path_buf();
            let configured = Configured { file: file.clone(), libtorch, is_forced };
            Source::new(&workspace, variable.map(OsString::from), Some(configured))
        };
        let by = |source| match source {
            Ok(Source::User(chosen)) => chosen.named_by(),
            other => panic!("{other:?}"),
        };
        let torch = Path::new("/opt/torch");
        assert_eq!(of(None, &workspace.link(), false), Ok(Source::Link));
        assert_eq!(by(of(None, torch, false)), "LIBTORCH in /x/.cargo/config.toml");
        assert_eq!(by(of(Some("/mine"), torch, false)), "your own LIBTORCH");
        assert_eq!(by(of(Some("/mine"), torch, true)), "LIBTORCH in /x/.cargo/config.toml");
        let error = of(None, Path::new("torch"), false).expect_err("not absolute");
        assert!(
            error.to_string().contains("remove LIBTORCH from /x/.cargo/config.toml"),
            "{error}"
        );
    }

    #[test]
    fn an_empty_or_relative_path_is_refused() {
        let workspace = Workspace::find_from(Path::new(env!("CARGO_MANIFEST_DIR")))
            .expect("the source tree has a root");
        for value in ["", "libtorch"] {
            let error =
                Source::new(&workspace, Some(value.into()), None).expect_err("not absolute");
            assert_eq!(
                error.what(),
                format!("LIBTORCH is \"{value}\", which is not an absolute path")
            );
        }
    }

    #[test]
    fn a_link_is_made_replaced_and_read_and_a_folder_is_refused() {
        let root = std::env::temp_dir().join(format!("xtask-link-{}", std::process::id()));
        fs::create_dir_all(&root).expect("make a scratch folder");
        fs::write(root.join("Cargo.toml"), "[workspace]\n").expect("write a manifest");
        let workspace = Workspace::find_from(&root).expect("it is a workspace now");

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
