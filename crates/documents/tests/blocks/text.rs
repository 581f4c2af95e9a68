//! Blocks of text: included, copied from a published result, or held by another test's expectation.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use walkdir::WalkDir;

use crate::Fault;
use crate::common::{Block, Document, root};

/// Expectations of tests, and published results.
static STORED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folders = ["criterion-report", "crates", "tests", "docs/results", "src", "benches"];
    let files = folders.iter().flat_map(|folder| WalkDir::new(root().join(folder)));
    let files = files.map(|entry| entry.expect("readable").into_path());
    let is_stored = |path: &Path| {
        let path = path.to_string_lossy();
        let is_result = path.contains("docs/results") && path.ends_with(".txt");
        path.ends_with(".snap") || is_result || (path.contains("test") && path.ends_with(".rs"))
    };
    files.filter(|path| is_stored(path)).filter_map(|path| fs::read_to_string(path).ok()).collect()
});

/// By what stands behind `text`: `formula`, `tree` for paths of the repository, or nothing.
pub fn check(document: &Document, block: &Block, kind: &str) -> Result<(), Fault> {
    match (kind, &block.comment) {
        ("formula", _) if block.body.contains(['=', '≤', '≈']) => Ok(()),
        ("tree", _) => tree(&block.body),
        // Held by other tests.
        ("", Some((key, _))) if key == "result" || key.starts_with("floors") => Ok(()),
        ("", _) if included(document, block)?.is_some() => Ok(()),
        ("", _) if STORED.iter().any(|stored| lines_in(&block.body, stored)) => Ok(()),
        ("", _) => Err("no stored result and no test's expectation has these lines".to_owned()),
        _ => Err(format!("`text,{kind}` has no equation, or is neither a formula nor a tree")),
    }
}

/// The file that the block is, if it is `{{#include FILE}}`.
pub fn included(document: &Document, block: &Block) -> Result<Option<String>, Fault> {
    let inner = block.body.trim().strip_prefix("{{#include ").and_then(|it| it.strip_suffix("}}"));
    let Some(inner) = inner else { return Ok(None) };
    let (file, anchor) = inner.split_once(':').unwrap_or((inner, ""));
    let text = fs::read_to_string(document.folder().join(file))
        .map_err(|error| format!("{file}: {error}"))?;
    let is_range = anchor.chars().all(|c| c.is_ascii_digit() || c == ':');
    let is_there = is_range || text.contains(&format!("ANCHOR: {anchor}"));
    if is_there { Ok(Some(text)) } else { Err(format!("{file} has no anchor `{anchor}`")) }
}

/// Whether `text` has every line of `body`, in their order. A line `…` stands for some.
fn lines_in(body: &str, text: &str) -> bool {
    let mut rest = text;
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "…");
    lines.into_iter().all(|line| {
        let end = rest.find(line).map(|at| at + line.len());
        end.map(|end| rest = &rest[end..]).is_some()
    })
}

/// Whether `body` is `text`, or has lines `…` for some of it.
pub fn is_part(body: &str, text: &str) -> bool {
    let is_short = body.lines().any(|line| line.trim() == "…");
    if is_short { lines_in(body, text) } else { body == text }
}

/// Every line begins with a path; `{a,b}` are several.
fn tree(body: &str) -> Result<(), Fault> {
    for line in body.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')) {
        let path = line.split_whitespace().next().unwrap_or_default().trim_end_matches(',');
        let (before, rest) = path.split_once('{').unwrap_or((path, "}"));
        let (names, after) = rest.split_once('}').unwrap_or((rest, ""));
        for path in names.split(',').map(|name| format!("{before}{name}{after}")) {
            if !root().join(&path).exists() {
                return Err(format!("there is no {path}"));
            }
        }
    }
    Ok(())
}

/// The text of a published file below its header.
pub fn result(file: &str) -> Result<String, Fault> {
    let path = root().join("docs/results").join(file);
    let text = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    let body = text.split_once("\n\n").map(|(_, body)| body.to_owned());
    body.ok_or(format!("{file} has no header"))
}

#[test]
fn lines_are_compared_in_their_order() {
    for (body, text, same) in [
        ("a\nb\n", "a\nb\n", true),
        ("a\n", "a\nb\n", false),
        ("a\n…\nd\n", "a\nb\nc\nd\n", true),
        ("a\n…\nd\nc\n", "a\nb\nc\nd\n", false),
    ] {
        assert_eq!(is_part(body, text), same, "{body}{text}");
    }
    assert!(tree("src/{harness,nothing}  the library\n").is_err());
    assert_eq!(tree("src/{harness,verify}/ and so on\n  more\n"), Ok(()));
}
