//! The packages that the command acts on.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Value};

use crate::error::{Error, Result};

/// The root folder of a workspace, or of a package that is in none.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// With that root.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn of_current_dir() -> Result<Self> {
        Self::find_from(&current_folder()?)
    }

    /// The nearest folder at or above `here` whose manifest declares a workspace that does not exclude it; else the
    /// nearest package.
    pub fn find_from(here: &Path) -> Result<Self> {
        let manifest = |folder: &Path| folder.join("Cargo.toml");
        here.ancestors()
            .find(|folder| is_workspace_of(folder, &manifest(folder), here))
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

/// A manifest that cannot be read is none; cargo says why.
fn is_workspace_of(root: &Path, manifest: &Path, here: &Path) -> bool {
    let text = fs::read_to_string(manifest).unwrap_or_default();
    let Ok(document) = text.parse::<DocumentMut>() else { return false };
    let excluded = |workspace: &Item| {
        let folders = workspace.get("exclude").and_then(Item::as_array);
        let mut folders = folders.into_iter().flatten().filter_map(Value::as_str);
        folders.any(|folder| here.starts_with(root.join(folder)))
    };
    document.get("workspace").is_some_and(|workspace| !excluded(workspace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_found_from_a_member() {
        let member = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace =
            Workspace::find_from(&member.join("src")).expect("the source tree has a root");
        assert_eq!(
            workspace.root(),
            member.ancestors().nth(2).expect("crates/cargo-torch-bench lies two deep")
        );
    }

    #[test]
    fn a_package_that_a_workspace_excludes_is_its_own() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let put = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        };
        put("Cargo.toml", "[workspace]\nmembers = [\"in\"]\nexclude = [\"out\"]\n");
        for package in ["in", "out", "out-of-none"] {
            put(&format!("{package}/src/lib.rs"), "");
            put(&format!("{package}/Cargo.toml"), "[package]\nname = \"it\"\n");
        }
        let around = |package: &str| {
            let here = root.path().join(package).join("src");
            Workspace::find_from(&here).expect("there are manifests").root().to_owned()
        };
        assert_eq!(around("in"), root.path());
        assert_eq!(around("out"), root.path().join("out"));
        assert_eq!(around("out-of-none"), root.path());
    }

    #[test]
    fn outside_of_a_clone_the_remedy_is_named() {
        let error = Workspace::find_from(Path::new("/proc")).expect_err("/proc is no workspace");
        assert!(error.what().contains("no Cargo.toml at or above"), "{error}");
        assert!(error.to_string().contains("inside a package"), "{error}");
    }
}
