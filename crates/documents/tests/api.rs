//! The public API of the libraries that others use is the one that was agreed on, and each item has an example.
//!
//! Documents are built as docs.rs builds them: without libtorch, without a warning.

mod common;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use common::{Block, blocks, root};
use public_api::{Builder, PublicItem};
use serde_json::Value;

/// The packages, the names of their libraries, and the features of their documents.
const LIBRARIES: [(&str, &str, &[&str]); 2] = [
    ("criterion-torch", "criterion_torch", &["--features", "doc-only"]),
    ("criterion-torch-build", "criterion_torch_build", &[]),
];

/// Items that can only stand in a bench target, each with one that it stands in.
const BENCHES: [(&str, &str); 1] = [("pub macro criterion_torch::main!", "benches/inference.rs")];

const UPDATE: &str = "UPDATE_PUBLIC_API";
const REMEDY: &str =
    "UPDATE_PUBLIC_API=1 cargo test -p criterion-torch-documents --test api -- --ignored";

/// Items that need an example; fields, variants and methods are covered by their type's.
const KINDS: [&str; 11] = [
    "module",
    "struct",
    "enum",
    "union",
    "trait",
    "function",
    "macro",
    "constant",
    "static",
    "type_alias",
    "proc_macro",
];

struct Library {
    package: &'static str,
    items: Vec<PublicItem>,
    /// All items that rustdoc knows, by number.
    index: Value,
}

/// The folder that cargo builds in.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target/tmp")
}

fn host() -> String {
    let output = Command::new("rustc").args(["--print", "host-tuple"]).output();
    let output = output.expect("rustc runs");
    String::from_utf8(output.stdout).expect("a name").trim().to_owned()
}

fn libraries() -> Vec<Library> {
    LIBRARIES.into_iter().map(|it| Library::documented(it.0, it.1, it.2)).collect()
}

impl Library {
    fn documented(package: &'static str, name: &str, features: &[&str]) -> Self {
        // For a named target, in folders of its own, though it is the host's: build scripts watch these variables, and
        // would run again in the usual one. What build scripts depend on is shared.
        let host = host();
        let output = Command::new(env!("CARGO"))
            .args(["rustdoc", "--quiet", "--package", package, "--lib", "--target", &host])
            .arg("--target-dir")
            .arg(target())
            .args(features)
            .args(["--", "--deny", "warnings", "-Z", "unstable-options", "--output-format", "json"])
            .current_dir(root())
            .env("DOCS_RS", "1")
            .env("LIBTORCH", "/no/libtorch/for/documents")
            .env("RUSTDOC", root().join("crates/documents/tests/rustdoc.sh"))
            .output()
            .expect("cargo runs");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the documents of {package}:\n{messages}");

        let file = target().join(host).join("doc").join(name).with_extension("json");
        let api = Builder::from_rustdoc_json(&file)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .unwrap_or_else(|error| {
                panic!("{}: {error}; a newer rustdoc needs a newer public-api", file.display())
            });
        let text = fs::read(&file).expect("it was just read");
        let mut whole: Value = serde_json::from_slice(&text).expect("it was just read");
        Self { package, items: api.items().cloned().collect(), index: whole["index"].take() }
    }

    fn item(&self, id: impl Display) -> &Value {
        &self.index[id.to_string()]
    }

    /// Its items, each once: preludes have names alone.
    fn lines(&self) -> Vec<String> {
        let is_name = |item: &&PublicItem| {
            self.is_in_module(item) || !item.to_string().contains("::prelude::")
        };
        let lines = self.items.iter().filter(is_name).map(PublicItem::to_string);
        let mut seen = HashSet::new();
        let mut lines: Vec<String> = lines.rev().filter(|line| seen.insert(line.clone())).collect();
        lines.reverse();
        lines
    }

    fn is_in_module(&self, item: &PublicItem) -> bool {
        item.parent_id().is_none_or(|id| self.item(id.0)["inner"].get("module").is_some())
    }

    /// Whether an item is of this library and something that can have an example.
    fn can_have_example(&self, item: &PublicItem) -> bool {
        let kinds = self.item(item.id().0)["inner"].as_object();
        self.is_in_module(item)
            && kinds.is_some_and(|it| it.keys().any(|kind| KINDS.contains(&kind.as_str())))
    }

    /// Whether its documents have a block that is compiled, or link to one as `[example](super)`, or a bench
    /// target is its example.
    fn has_example(&self, item: &PublicItem) -> bool {
        let name = item.to_string();
        let mut benches = BENCHES.iter().filter(|it| it.0 == name);
        let item = self.item(item.id().0);
        let docs = item["docs"].as_str().unwrap_or_default();
        let link =
            docs.split_once("[example](").and_then(|(_, link)| Some(link.split_once(')')?.0));
        let linked =
            link.and_then(|link| self.item(item["links"][link].as_u64()?)["docs"].as_str());
        has_compiled_block(docs)
            || linked.is_some_and(has_compiled_block)
            || benches.any(|(_, file)| {
                let text = fs::read_to_string(root().join(file)).expect("a bench target");
                text.contains("criterion_torch::main!")
            })
    }
}

fn has_compiled_block(docs: &str) -> bool {
    let is_compiled =
        |it: &Block| ["", "rust", "no_run"].contains(&&*it.language) && it.kind != "ignore";
    blocks(docs).iter().any(is_compiled)
}

#[test]
#[ignore = "nightly: the first run checks all dependencies, a minute and a half"]
fn nightly_the_public_api_is_the_one_that_was_agreed_on() {
    let is_update = env::var(UPDATE).is_ok_and(|value| value == "1");
    let folder = root().join("docs/public-api");
    let mut faults = String::new();
    for library in libraries() {
        let file = folder.join(library.package).with_extension("txt");
        let now: String = library.lines().iter().map(|line| format!("{line}\n")).collect();
        if is_update {
            fs::write(&file, &now).expect("docs/public-api is writable");
        }
        let agreed = fs::read_to_string(&file).unwrap_or_default();
        let (before, after): (BTreeSet<_>, BTreeSet<_>) =
            (agreed.lines().collect(), now.lines().collect());
        let gone = before.difference(&after).map(|line| format!("- {line}\n"));
        let new = after.difference(&before).map(|line| format!("+ {line}\n"));
        faults.extend(gone.chain(new));
    }
    assert!(
        faults.is_empty(),
        "another public API:\n{faults}If it is what you meant, say it in CHANGELOG.md and run\n{REMEDY}"
    );
}

#[test]
#[ignore = "nightly: the first run checks all dependencies, a minute and a half"]
fn nightly_every_public_item_has_an_example() {
    let lacks = |library: &Library| {
        let items = library.items.iter();
        let items = items.filter(|it| library.can_have_example(it) && !library.has_example(it));
        items.map(|item| format!("\n{}: {item}", library.package)).collect::<String>()
    };
    let without: String = libraries().iter().map(lacks).collect();
    assert!(without.is_empty(), "public items without an example in their documents:{without}");
}
