//! LIBTORCH in cargo's configuration files. Cargo gives that value to build scripts and to what `cargo run` starts, but
//! not to an installed tool, which has to read it.

use std::path::{Path, PathBuf};

use plan::results::variable;
use toml_edit::{DocumentMut, Item};

use crate::error::{Error, Result};
use crate::files;
use crate::workspace::Workspace;

/// All that a workspace needs.
const TEXT: &str = include_str!("../template/.cargo/config.toml");
const TABLE: &str = "[env]";

/// The value that cargo gives to build scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    pub file: PathBuf,
    pub libtorch: PathBuf,
    /// It wins over the environment's.
    pub is_forced: bool,
}

/// Reads LIBTORCH from the nearest file that names it, as cargo looks for it from the root of the workspace.
pub fn libtorch(root: &Path) -> Result<Option<Configured>> {
    let folders = root.ancestors().map(|folder| (folder.join(".cargo"), folder.to_path_buf()));
    let home =
        cargo_home().map(|home| (home.clone(), home.parent().map(Into::into).unwrap_or(home)));
    for (folder, base) in folders.chain(home) {
        if let Some(file) = file_in(&folder)
            && let Some(found) = read(&file, &base)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// All files, the nearest first.
pub fn documents(root: &Path) -> Result<Vec<DocumentMut>> {
    let folders = root.ancestors().map(|folder| folder.join(".cargo")).chain(cargo_home());
    folders.filter_map(|folder| file_in(&folder)).map(|file| parsed(&file)).collect()
}

fn cargo_home() -> Option<PathBuf> {
    let home = || variable("HOME").map(|home| Path::new(&home).join(".cargo"));
    variable("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// Cargo reads one of the two, the old name first.
fn file_in(folder: &Path) -> Option<PathBuf> {
    ["config", "config.toml"].map(|name| folder.join(name)).into_iter().find(|file| file.is_file())
}

fn read(file: &Path, base: &Path) -> Result<Option<Configured>> {
    let document = parsed(file)?;
    let Some(found) = document.get("env").and_then(|env| env.get("LIBTORCH")) else {
        return Ok(None);
    };
    let flag = |key: &str| found.get(key).and_then(Item::as_bool).unwrap_or(false);
    let value = found.as_str().or_else(|| found.get("value")?.as_str()).ok_or_else(|| {
        Error::new(format!("{}: env.LIBTORCH is not a text", file.display()))
            .remedy("LIBTORCH = { value = \".libtorch\", relative = true }")
    })?;
    let libtorch = if flag("relative") { base.join(value) } else { value.into() };
    Ok(Some(Configured { file: file.to_path_buf(), libtorch, is_forced: flag("force") }))
}

fn parsed(file: &Path) -> Result<DocumentMut> {
    files::read(file)?
        .parse()
        .map_err(|error: toml_edit::TomlError| Error::new(format!("{}: {error}", file.display())))
}

/// Whether cargo will tell build scripts about `.libtorch`, where the user names no other libtorch.
#[derive(Debug, PartialEq, Eq)]
pub enum Naming {
    /// Yes, by the environment or a file of configuration.
    Named(String),
    /// No. This file can be written: there is none.
    Absent(PathBuf),
    /// No, and this file is the user's.
    Lacking(PathBuf),
}

impl Naming {
    pub fn new(workspace: &Workspace) -> Result<Self> {
        let configured = libtorch(workspace.root())?;
        if std::env::var_os("LIBTORCH").is_some() && configured.is_none() {
            return Ok(Self::Named("the variable LIBTORCH".to_owned()));
        }
        if let Some(Configured { file, .. }) = configured {
            return Ok(Self::Named(file.display().to_string()));
        }
        let folder = workspace.root().join(".cargo");
        Ok(match file_in(&folder) {
            Some(file) => Self::Lacking(file),
            None => Self::Absent(folder.join("config.toml")),
        })
    }

    /// Writes the file if there is none, and says so. A file of the user's is not edited.
    pub fn settle(self) -> Result<()> {
        match self {
            Self::Named(_) => Ok(()),
            Self::Absent(file) => {
                files::make_folder(file.parent().expect("it lies in .cargo"))?;
                files::write(&file, TEXT)?;
                eprintln!("wrote {}, by which cargo finds .libtorch", file.display());
                Ok(())
            }
            Self::Lacking(file) => {
                let lacks = "does not name libtorch, so cargo does not find .libtorch";
                let error = Error::new(format!("{} {lacks}", file.display()));
                Err(error.remedy(lines_for(&file)?))
            }
        }
    }
}

/// The lines that the user has to add to a file.
pub fn lines_for(file: &Path) -> Result<String> {
    let has_table = parsed(file)?.contains_key("env");
    let line = TEXT.lines().find(|line| line.starts_with("LIBTORCH")).expect("it names libtorch");
    Ok(if has_table {
        format!("add to its table {TABLE}:\n\n    {line}\n")
    } else {
        format!("add to it:\n\n    {TABLE}\n    {line}\n")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_file_that_names_libtorch_counts() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let root = home.path().join("a/b");
        let put = |folder: &Path, text: &str| {
            fs::create_dir_all(folder.join(".cargo")).expect("make a scratch folder");
            fs::write(folder.join(".cargo/config.toml"), text).expect("write a configuration");
        };
        let found = || {
            let found = libtorch(&root).expect("readable").expect("named");
            let file = found.file.strip_prefix(home.path()).expect("in it").display().to_string();
            (file, found.libtorch, found.is_forced)
        };
        put(home.path(), "[env]\nLIBTORCH = \"/opt/torch\"\n");
        put(&root, "[env]\nOTHER = \"x\"\n");
        assert_eq!(found(), (".cargo/config.toml".into(), "/opt/torch".into(), false));
        put(&home.path().join("a"), "env.LIBTORCH = { value = \"t\", relative = true }\n");
        assert_eq!(found(), ("a/.cargo/config.toml".into(), home.path().join("a/t"), false));
        put(&root, TEXT);
        assert_eq!(found(), ("a/b/.cargo/config.toml".into(), root.join(".libtorch"), false));
        put(&root, "[env.LIBTORCH]\nvalue = \"/opt/torch\"\nforce = true\n");
        assert_eq!(found(), ("a/b/.cargo/config.toml".into(), "/opt/torch".into(), true));
        for (text, what) in
            [("[env]\nLIBTORCH = 3\n", "env.LIBTORCH is not a text"), ("[env", "config.toml: ")]
        {
            put(&root, text);
            let error = libtorch(&root).expect_err(text);
            assert!(error.what().contains(what), "{error}");
        }
    }

    #[test]
    fn a_users_file_is_not_edited_and_what_it_lacks_is_told() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let file = folder.path().join("config.toml");
        for (text, told) in [
            (
                "",
                "add to it:\n\n    [env]\n    LIBTORCH = { value = \".libtorch\", relative = true }",
            ),
            ("[env]\nX = \"1\"\n", "add to its table [env]:\n\n    LIBTORCH = {"),
        ] {
            fs::write(&file, text).expect("write a configuration");
            let error = Naming::Lacking(file.clone()).settle().expect_err("it stays");
            assert!(error.to_string().contains(told), "{error}");
            assert_eq!(fs::read_to_string(&file).expect("readable"), text);
        }
        let absent = folder.path().join(".cargo/config.toml");
        assert_eq!(Naming::Absent(absent.clone()).settle(), Ok(()));
        assert_eq!(fs::read_to_string(absent).expect("readable"), TEXT);
    }
}
