//! `new` adds the bench target and flags to Cargo.toml here. All else keeps its form.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, value};

use crate::cargo::Package;
use crate::error::{Error, Result};
use crate::files;

/// The bench target, and the file benches/torch.rs.
const TARGET: &str = "torch";

pub struct Manifest {
    document: DocumentMut,
    /// For people: each table that was added or changed.
    pub changes: Vec<String>,
}

impl Manifest {
    pub fn read(path: &Path) -> Result<Self> {
        let text = files::read(path)?;
        let document = text.parse().map_err(|error: toml_edit::TomlError| {
            Error::new(format!("{}: {error}", path.display()))
        })?;
        Ok(Self { document, changes: Vec::new() })
    }

    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// Refuses what cannot be added to.
    pub fn check(&self, path: &Path) -> Result<()> {
        let inline = |kind: &&str| self.document.contains_key(kind) && self.targets(kind).is_none();
        let Some(kind) = ["bench", "bin"].into_iter().find(inline) else { return Ok(()) };
        Err(Error::new(format!("{}: `{kind}` is a list in one value", path.display()))
            .remedy(format!("write each of its targets as a table: [[{kind}]]")))
    }

    /// The file that the bench target of that name has, if it names one.
    pub fn bench_file(&self) -> Option<&Path> {
        let mut benches = self.targets("bench")?.iter();
        Some(Path::new(benches.find(|it| is_named(it, TARGET))?.get("path")?.as_str()?))
    }

    /// Lists the changes that a bench target of that name needs, if the user has one, before it works.
    pub fn bench_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let bench =
            self.targets("bench").and_then(|all| all.iter().find(|it| is_named(it, TARGET)));
        if bench.is_some_and(|it| it.get("harness").and_then(Item::as_bool) != Some(false)) {
            faults.push(format!("Cargo.toml: add `harness = false` to [[bench]] {TARGET}"));
        }
        let package = self.document.get("package");
        if package.and_then(|it| it.get("build")?.as_bool()) == Some(false) {
            faults.push("Cargo.toml: remove `build = false` from [package]".to_owned());
        }
        faults
    }

    /// Adds the bench target, and `bench = false` to the other targets that `cargo bench` runs: libtest's harness,
    /// which is theirs, refuses criterion's options. Where the user has set it, it stays.
    pub fn with_targets(mut self, package: &Package) -> Self {
        if package.has_library {
            let library = self.document.entry("lib").or_insert_with(toml_edit::table);
            if exclude(library.as_table_like_mut()) {
                self.changes.push("[lib] bench = false".to_owned());
            }
        }
        for name in &package.programs {
            if exclude(Some(self.target("bin", name))) {
                self.changes.push(format!("[[bin]] {name}: bench = false"));
            }
        }
        if !self.targets("bench").is_some_and(|all| all.iter().any(|it| is_named(it, TARGET))) {
            self.target("bench", TARGET).insert("harness", value(false));
            self.changes.push(format!("[[bench]] {TARGET}"));
        }
        self
    }

    fn targets(&self, kind: &str) -> Option<&ArrayOfTables> {
        self.document.get(kind)?.as_array_of_tables()
    }

    /// The target's table, which is added if it is not there: cargo finds the file by the name.
    fn target(&mut self, kind: &str, name: &str) -> &mut dyn TableLike {
        let all = self.document.entry(kind).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        let all = all.as_array_of_tables_mut().expect("cargo has read the manifest");
        let found = all.iter().position(|it| is_named(it, name));
        if found.is_none() {
            let mut target = Table::new();
            target.insert("name", value(name));
            all.push(target);
        }
        all.get_mut(found.unwrap_or(all.len() - 1)).expect("it is there")
    }
}

/// The user's manifest as it lies on disk: cargo and toml_edit end lines with LF, and a file replaces a link.
pub struct Original<'p> {
    path: &'p Path,
    /// The file itself, and the link to it if `path` is one.
    real: PathBuf,
    link: Option<PathBuf>,
    text: String,
}

impl<'p> Original<'p> {
    pub fn read(path: &'p Path) -> Result<Self> {
        let real = path.canonicalize().map_err(|error| Error::io("read", path, &error))?;
        Ok(Self { path, text: files::read(&real)?, link: fs::read_link(path).ok(), real })
    }

    /// Writes the text in the form of the original; without one, the original.
    pub fn write(&self, text: Option<&str>) -> Result<()> {
        let io = |error| Error::io("write", self.path, &error);
        let permissions = fs::metadata(&self.real).map_err(io)?.permissions();
        let text = text.map_or_else(|| self.text.clone(), |text| self.with_its_endings(text));
        files::write(&self.real, text)?;
        fs::set_permissions(&self.real, permissions).map_err(io)?;
        match &self.link {
            Some(to) if !self.path.is_symlink() => fs::remove_file(self.path)
                .and_then(|()| std::os::unix::fs::symlink(to, self.path))
                .map_err(io),
            _ => Ok(()),
        }
    }

    /// Every line ends as it did, and a new one as the first.
    fn with_its_endings(&self, text: &str) -> String {
        let lines = self.text.split_inclusive('\n').filter_map(|line| {
            let line = line.strip_suffix('\n')?;
            Some(line.strip_suffix('\r').map_or((line, "\n"), |line| (line, "\r\n")))
        });
        let usual = lines.clone().next().map_or("\n", |(_, end)| end);
        let old: BTreeMap<_, _> = lines.collect();
        let lines = text.lines().map(|line| [line, old.get(line).copied().unwrap_or(usual)]);
        lines.flatten().collect()
    }
}

fn is_named(target: &Table, name: &str) -> bool {
    target.get("name").and_then(Item::as_str) == Some(name)
}

/// Whether it had to be said.
fn exclude(target: Option<&mut dyn TableLike>) -> bool {
    let target = target.filter(|target| !target.contains_key("bench"));
    target.map(|target| target.insert("bench", value(false))).is_some()
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
