//! The source of libtorch: the user chooses it with LIBTORCH, or else this tool does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::workspace::Workspace;
use ::libtorch::{Libtorch, VERSION};

#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// LIBTORCH as the user has set it. Nothing is provisioned.
    User(PathBuf),
    /// `.libtorch` in the clone, which setup makes.
    Link,
}

impl Source {
    pub fn of_environment(workspace: &Workspace) -> Result<Self> {
        Self::of(workspace, std::env::var_os("LIBTORCH"))
    }

    /// `cargo xtask` always runs with LIBTORCH set: .cargo/config.toml gives it the path of the link
    /// where the user has set none. That very path is therefore nobody's choice.
    fn of(workspace: &Workspace, libtorch: Option<OsString>) -> Result<Self> {
        let Some(value) = libtorch.map(PathBuf::from) else {
            return Ok(Self::Link);
        };
        if is_link(&value, workspace.root()) {
            return Ok(Self::Link);
        }
        if value.is_relative() {
            // torch-sys would take it from its own package folder, cargo from this one.
            return Err(Error::new(format!(
                "LIBTORCH is \"{}\", which is not an absolute path",
                value.display()
            ))
            .remedy("unset LIBTORCH, and libtorch is provisioned for you")
            .remedy(format!("or set it to the full path of a libtorch {VERSION}")));
        }
        Ok(Self::User(value))
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

/// The user's libtorch, or why it cannot be used.
pub fn inspect_users(path: &Path) -> Result<Libtorch> {
    Libtorch::inspect(path).map_err(|error| {
        Error::new(format!("LIBTORCH is set, but cannot be used: {error}"))
            .remedy("unset LIBTORCH, and libtorch is provisioned for you")
            .remedy(format!("or set LIBTORCH to a libtorch {VERSION}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_of_the_link_is_nobodys_choice() {
        let workspace = Workspace::around(Path::new(env!("CARGO_MANIFEST_DIR")))
            .expect("the source tree has a root");
        let root = workspace.root().display().to_string();
        let of = |value: &str| Source::of(&workspace, Some(value.into()));

        assert_eq!(Source::of(&workspace, None), Ok(Source::Link));
        assert_eq!(of(&format!("{root}/.libtorch")), Ok(Source::Link));
        assert_eq!(of(&format!("{root}/crates/../.libtorch")), Ok(Source::Link));
        assert_eq!(of("/opt/libtorch"), Ok(Source::User("/opt/libtorch".into())));
        assert_eq!(of("/elsewhere/.libtorch"), Ok(Source::User("/elsewhere/.libtorch".into())));
    }

    #[test]
    fn an_empty_or_relative_path_is_refused() {
        let workspace = Workspace::around(Path::new(env!("CARGO_MANIFEST_DIR")))
            .expect("the source tree has a root");
        for value in ["", "libtorch"] {
            let error = Source::of(&workspace, Some(value.into())).expect_err("not absolute");
            assert_eq!(
                error.what(),
                format!("LIBTORCH is \"{value}\", which is not an absolute path")
            );
        }
    }
}
