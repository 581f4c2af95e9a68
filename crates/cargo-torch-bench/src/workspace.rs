//! The packages that the command acts on.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The root folder of a workspace, or of a package that is in none.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// With that root.
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn of_current_dir() -> Result<Self> {
        Self::around(&current_folder()?)
    }

    /// The nearest folder at or above `here` whose manifest declares a workspace; else the nearest package.
    pub fn around(here: &Path) -> Result<Self> {
        let manifest = |folder: &Path| folder.join("Cargo.toml");
        here.ancestors()
            .find(|folder| declares_workspace(&manifest(folder)))
            .or_else(|| here.ancestors().find(|folder| manifest(folder).is_file()))
            .map(|folder| Self { root: folder.to_path_buf() })
            .ok_or_else(|| {
                Error::new(format!("no Cargo.toml at or above {}", here.display()))
                    .remedy("run `cargo xtask` inside a package")
            })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The place in which .cargo/config.toml tells every cargo command to look for libtorch.
    pub fn link(&self) -> PathBuf {
        self.root.join(".libtorch")
    }
}

pub fn current_folder() -> Result<PathBuf> {
    std::env::current_dir()
        .map_err(|error| Error::new(format!("cannot read the current folder: {error}")))
}

fn declares_workspace(manifest: &Path) -> bool {
    fs::read_to_string(manifest)
        .is_ok_and(|text| text.lines().any(|line| line.trim().starts_with("[workspace")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_found_from_a_member() {
        let member = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = Workspace::around(&member.join("src")).expect("the source tree has a root");
        assert_eq!(
            workspace.root(),
            member.ancestors().nth(2).expect("crates/cargo-torch-bench lies two deep")
        );
    }

    #[test]
    fn outside_of_a_clone_the_remedy_is_named() {
        let error = Workspace::around(Path::new("/proc")).expect_err("/proc is no workspace");
        assert!(error.what().contains("no Cargo.toml at or above"), "{error}");
        assert!(error.to_string().contains("inside a package"), "{error}");
    }
}
