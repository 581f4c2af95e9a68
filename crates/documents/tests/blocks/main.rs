//! Every block of code of the documents is what its info string says. Blocks of Rust are
//! doctests of `crates/end-to-end`.
//!
//! `UPDATE_BOOK=1` rewrites what commands print and what is copied from published results.

#[path = "../common/mod.rs"]
mod common;

mod config;
mod console;
mod shell;
mod text;

use std::fs;

use common::{Block, Document, assert_none, blocks, documents, root};

/// Why a block is not what it says.
type Fault = String;

#[test]
fn every_block_is_what_it_says() {
    let mut faults = Vec::new();
    for document in documents() {
        for block in blocks(&document.text) {
            if let Err(fault) = check(&document, &block) {
                faults.push(format!("{}: {fault}", document.place(block.begin)));
            }
        }
    }
    assert_none(&faults);
}

fn check(document: &Document, block: &Block) -> Result<(), Fault> {
    let text = |error: &dyn std::error::Error| error.to_string();
    match (&*block.language, &*block.kind) {
        ("rust", "ignore") => Ok(()),
        ("rust", "" | "no_run") => doctest(document),
        ("yaml", kind) => config::check(document, block, kind),
        ("json", "") => serde_json::from_str::<serde_json::Value>(&block.body)
            .map(drop)
            .map_err(|error| text(&error)),
        ("toml", "") => {
            toml::from_str::<toml::Table>(&block.body).map(drop).map_err(|error| text(&error))
        }
        ("sh", "") => shell::check(&block.body),
        ("diff", "") => {
            text::included(document, block)?.map(drop).ok_or("a patch is included".to_owned())
        }
        ("text", kind) => text::check(document, block, kind),
        // Held by the other test.
        ("console", "") => Ok(()),
        (language, kind) => Err(format!("`{language},{kind}` is no known kind of block")),
    }
}

/// Its blocks of Rust are doctests: of the library that has it as its documents, else of a package that has libtorch.
fn doctest(document: &Document) -> Result<(), Fault> {
    let libraries = [("lib.rs", "README.md"), ("src/lib.rs", "../README.md")];
    let has = |(library, name)| {
        let text = fs::read_to_string(document.folder().join(library));
        text.is_ok_and(|it| it.contains(&format!("#![doc = include_str!({name:?})]")))
    };
    if document.path.ends_with("README.md") && libraries.into_iter().any(has) {
        return Ok(());
    }
    const LIST: &str = "crates/end-to-end/src/lib.rs";
    let list = fs::read_to_string(root().join(LIST)).expect("readable");
    let include = format!("include_str!(\"../../../{}\")", document.name());
    if list.contains(&include) { Ok(()) } else { Err(format!("{LIST} lacks {include}")) }
}

/// Compares every block of output with what its command prints, and every copy of a published result with the file.
#[test]
fn outputs_are_up_to_date() {
    let is_update = std::env::var("UPDATE_BOOK").is_ok_and(|value| value == "1");
    let mut faults = Vec::new();
    for document in documents() {
        let mut updated = document.text.clone();
        for block in blocks(&document.text).iter().rev() {
            let now = match (&*block.language, &block.comment) {
                ("console", _) => console::run(block),
                ("text", Some((key, file))) if key == "result" => text::result(file),
                _ => continue,
            };
            let place = document.place(block.begin);
            match now {
                Ok(now) if text::is_part(&block.body, &now) => {}
                Ok(now) if is_update => updated.replace_range(block.range.clone(), &now),
                Ok(now) => {
                    faults.push(format!("{place}: now it is (UPDATE_BOOK=1 writes it)\n{now}"))
                }
                Err(fault) => faults.push(format!("{place}: {fault}")),
            }
        }
        if updated != document.text {
            fs::write(&document.path, updated).expect("writable");
        }
    }
    assert_none(&faults);
}
