//! The book is built; its links, its pages and its paragraphs are as they should be.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use common::{Document, assert_none, documents, events, pages, root};
use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;
use pulldown_cmark::{Event, Tag, TagEnd};
use regex::Regex;

/// Words of a paragraph, of README, and of a page at least.
const LONGEST_PARAGRAPH: usize = 100;
const LONGEST_README: usize = 1200;
const SHORTEST_PAGE: usize = 40;

/// The pages of the summary in HTML, by their sources.
fn built() -> BTreeMap<PathBuf, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut book = MDBook::load(root().join("docs/book")).expect("a book");
    book.config.build.build_dir = folder.path().to_owned();
    book.build().expect("the book builds");
    let chapters = book.iter().filter_map(|item| match item {
        BookItem::Chapter(chapter) => chapter.path.clone(),
        _ => None,
    });
    let html = |page: PathBuf| {
        let file = match page.file_name() {
            Some(name) if name == "README.md" => page.with_file_name("index.html"),
            _ => page.with_extension("html"),
        };
        let text = fs::read_to_string(folder.path().join(file)).expect("it was built");
        (pages().join(page), text)
    };
    chapters.map(html).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let (built, id) = (built(), Regex::new(r#" id="([^"]+)""#).expect("a pattern"));
    let ids = |html: &str| id.captures_iter(html).map(|it| it[1].to_owned()).collect();
    let mut faults: Vec<String> = built
        .iter()
        .filter(|(_, html)| html.contains("{{#"))
        .map(|(page, _)| format!("{page:?}: a file that it includes is not there"))
        .collect();
    let others = ["docs/results/README.md", "docs/GPU.md", "docs/book/src/SUMMARY.md"];
    let others = others.map(|path| Document::read(root().join(path)));
    for document in documents().into_iter().chain(others) {
        for (link, place) in links(&document) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => Ok(document.path.clone()),
                file => document.folder().join(file).canonicalize(),
            };
            let Ok(target) = target else {
                faults.push(format!("{place}: `{link}` leads to no file"));
                continue;
            };
            let is_page = target.extension().is_some_and(|it| it == "md");
            if document.is_page() && is_page && !built.contains_key(&target) {
                faults
                    .push(format!("{place}: `{link}` is not in the book, where it would be HTML"));
            }
            let anchors: BTreeSet<String> = match built.get(&target) {
                Some(html) => ids(html),
                None if anchor.is_empty() => continue,
                None => anchors(&target),
            };
            if !anchor.is_empty() && !anchors.contains(anchor) {
                faults.push(format!("{place}: `{link}` leads to no heading"));
            }
        }
    }
    assert_none(&faults);
}

/// The links into the repository, and where they stand.
fn links(document: &Document) -> Vec<(String, String)> {
    let found = events(&document.text).filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((dest_url.to_string(), document.place(range.start)))
        }
        _ => None,
    });
    found.filter(|(link, _)| !link.starts_with("http") && !link.starts_with("mailto:")).collect()
}

/// The anchors of headings outside of the book, as GitHub makes them.
fn anchors(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let (mut found, mut heading) = (BTreeSet::new(), None);
    for (event, _) in events(&text) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), heading) => *heading = Some(String::new()),
            (Event::Text(part) | Event::Code(part), Some(heading)) => *heading += &part,
            (Event::End(TagEnd::Heading(_)), heading) => {
                let heading = heading.take().unwrap_or_default().to_lowercase().replace(' ', "-");
                let is_kept = |c: &char| c.is_alphanumeric() || "-_".contains(*c);
                found.insert(heading.chars().filter(is_kept).collect());
            }
            _ => {}
        }
    }
    found
}

#[test]
fn every_page_is_in_the_summary_and_says_something() {
    let (built, mut faults) = (built(), Vec::new());
    for document in documents().iter().filter(|document| document.is_page()) {
        if !built.contains_key(&document.path) {
            faults.push(format!("{}: it is not in SUMMARY.md", document.name()));
        }
        let words = document.text.split_whitespace().count();
        if words < SHORTEST_PAGE {
            faults.push(format!("{}: {words} words", document.name()));
        }
    }
    assert_none(&faults);
}

#[test]
fn no_paragraph_is_too_long() {
    let mut faults = Vec::new();
    for document in documents() {
        let (mut words, mut begin, mut is_code) = (0, 0, false);
        for (event, range) in events(&document.text) {
            match event {
                Event::Start(Tag::CodeBlock(_)) => is_code = true,
                Event::End(TagEnd::CodeBlock) => is_code = false,
                Event::Start(Tag::Paragraph | Tag::Item | Tag::TableCell) => {
                    (words, begin) = (0, range.start);
                }
                Event::Text(text) | Event::Code(text) if !is_code => {
                    words += text.split_whitespace().count();
                    if words > LONGEST_PARAGRAPH {
                        faults.push(format!("{}: more than {words} words", document.place(begin)));
                        words = 0;
                    }
                }
                _ => {}
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn the_readme_is_short() {
    let readme = Document::read(root().join("README.md"));
    let words = readme.text.split_whitespace().count();
    assert!(words <= LONGEST_README, "{words} words");
}
