//! The documents, and the blocks of code in them.
#![allow(dead_code, reason = "each test binary uses its own part of this module")]

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use walkdir::WalkDir;

pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the clone is there")
}

/// The folder of the book's pages.
pub fn pages() -> PathBuf {
    root().join("docs/book/src")
}

pub struct Document {
    pub path: PathBuf,
    pub text: String,
}

impl Document {
    pub fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        Self { path, text }
    }

    /// As messages name it.
    pub fn name(&self) -> String {
        self.path.strip_prefix(root()).expect("in the clone").display().to_string()
    }

    pub fn folder(&self) -> &Path {
        self.path.parent().expect("a file lies in a folder")
    }

    pub fn is_page(&self) -> bool {
        self.path.starts_with(pages())
    }

    /// A place in it, as messages name it.
    pub fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.name(), self.text[..offset].matches('\n').count() + 1)
    }
}

/// README, CONTRIBUTING, CHANGELOG, SECURITY, the READMEs of the packages and examples, and every page of the book.
pub fn documents() -> Vec<Document> {
    let files = WalkDir::new(pages()).sort_by_file_name().into_iter();
    let files = files.map(|entry| entry.expect("readable").into_path()).filter(|path| {
        path.extension().is_some_and(|it| it == "md") && !path.ends_with("SUMMARY.md")
    });
    let own = [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "src/README.md",
        "criterion-report/README.md",
        "examples/README.md",
        "SECURITY.md",
    ];
    let crates = fs::read_dir(root().join("crates")).expect("readable");
    let crates = crates.map(|entry| entry.expect("readable").path().join("README.md"));
    let own = own.map(|name| root().join(name)).into_iter();
    own.chain(crates.filter(|path| path.exists())).chain(files).map(Document::read).collect()
}

/// The events of a text with their places, in mdBook's dialect.
pub fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_GFM;
    Parser::new_ext(text, options).into_offset_iter()
}

/// A block of code.
#[derive(Default)]
pub struct Block {
    /// The word behind the fence, and the rest of it behind a comma.
    pub language: String,
    pub kind: String,
    pub body: String,
    /// The comment right before it: `<!-- key: value -->`.
    pub comment: Option<(String, String)>,
    /// Its first line, and the range of its body.
    pub begin: usize,
    pub range: Range<usize>,
}

pub fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let (mut is_open, mut comment) = (false, None);
    for (event, range) in events(text) {
        match event {
            Event::Html(html) => comment = key_and_value(&html),
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info,
                    CodeBlockKind::Indented => "indented",
                };
                let (language, kind) = info.split_once(',').unwrap_or((info, ""));
                let (language, kind) = (language.to_owned(), kind.to_owned());
                let comment = comment.take();
                found.push(Block {
                    language,
                    kind,
                    comment,
                    begin: range.start,
                    ..Block::default()
                });
                is_open = true;
            }
            Event::Text(part) if is_open => {
                let block = found.last_mut().expect("one is open");
                let begin = if block.body.is_empty() { range.start } else { block.range.start };
                block.range = begin..range.end;
                block.body += &part;
            }
            Event::End(TagEnd::CodeBlock) => is_open = false,
            _ => comment = None,
        }
    }
    found
}

fn key_and_value(html: &str) -> Option<(String, String)> {
    let inner = html.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    inner.trim().split_once(": ").map(|(key, value)| (key.to_owned(), value.to_owned()))
}

/// Fails with every fault, each on its line.
#[track_caller]
pub fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
