//! `new` adds the bench target and flags to Cargo.toml here. All else keeps its form.

use std::path::Path;

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

fn is_named(target: &Table, name: &str) -> bool {
    target.get("name").and_then(Item::as_str) == Some(name)
}

/// Whether it had to be said.
fn exclude(target: Option<&mut dyn TableLike>) -> bool {
    let target = target.filter(|target| !target.contains_key("bench"));
    target.map(|target| target.insert("bench", value(false))).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, has_library: bool, programs: &[&str]) -> (String, String) {
        let document = text.parse().expect("a manifest");
        let programs = programs.iter().map(|&name| name.to_owned()).collect();
        let package = Package::with_targets(has_library, programs);
        let manifest = Manifest { document, changes: Vec::new() }.with_targets(&package);
        (manifest.text(), manifest.changes.join(", "))
    }

    #[test]
    fn only_what_is_missing_is_added_and_the_rest_keeps_its_form() {
        const BENCH: &str = "\n[[bench]]\nname = \"torch\"\nharness = false\n";
        let package = "[package] # mine\nname = \"a\"\n";
        let library = format!("{package}\n[lib]\nbench = false\n{BENCH}");
        let program = format!("{package}\n[[bin]]\nname = \"a\"\nbench = false\n{BENCH}");
        for (before, has_library, programs, after, changes) in [
            (package, true, &[][..], library.clone(), "[lib] bench = false, [[bench]] torch"),
            (package, false, &["a"], program, "[[bin]] a: bench = false, [[bench]] torch"),
            (&library, true, &[], library.clone(), ""),
            // As the user has it.
            (
                "[lib]\nname = \"b\" # short\nbench = true\n",
                true,
                &[],
                format!("[lib]\nname = \"b\" # short\nbench = true\n{BENCH}"),
                "[[bench]] torch",
            ),
            (
                "[[bin]]\nname = \"a\"\npath = \"x.rs\"\n\n[[bench]]\nname = \"other\"\n",
                false,
                &["a"],
                format!(
                    "[[bin]]\nname = \"a\"\npath = \"x.rs\"\nbench = false\n\n[[bench]]\nname = \
                     \"other\"\n{BENCH}"
                ),
                "[[bin]] a: bench = false, [[bench]] torch",
            ),
        ] {
            let found = edited(before, has_library, programs);
            assert_eq!(found, (after, changes.to_owned()), "{before}");
        }
    }

    #[test]
    fn a_bench_target_of_that_name_needs_no_harness() {
        for (text, faults) in [
            ("", &[][..]),
            ("[[bench]]\nname = \"torch\"\nharness = false\n", &[]),
            (
                "[[bench]]\nname = \"torch\"\n",
                &["Cargo.toml: add `harness = false` to [[bench]] torch"],
            ),
            ("[package]\nbuild = false\n", &["Cargo.toml: remove `build = false` from [package]"]),
        ] {
            let document = text.parse().expect("a manifest");
            let manifest = Manifest { document, changes: Vec::new() };
            assert_eq!(manifest.bench_faults(), faults, "{text}");
        }
    }
}
