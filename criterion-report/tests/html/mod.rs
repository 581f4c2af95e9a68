//! The page: what its text holds, and what it does in a real browser.

pub mod browser;
mod keyboard;
mod page;
mod placed;
mod placing;
mod profile;
mod screens;
mod size;

use std::path::PathBuf;

use crate::common;
use criterion_report::cli::writer::Writer;
use criterion_report::html;
use criterion_report::read::Report;
use criterion_report::views::written::Target;
use tempfile::TempDir;

use browser::Browser;

/// The page of a report.
fn page(report: &Report) -> String {
    let options = html::Options { title: "A report".to_owned() };
    let target = Target { colour_terminal: false, width: None, file: None };
    let (text, notes) =
        common::text_and_notes(&Writer::Html(options), report, target).expect("a page");
    assert_eq!(notes, [] as [&str; 0]);
    text
}

/// A page as a file, in a folder that goes with this.
struct File {
    path: PathBuf,
    _folder: TempDir,
}

fn file(report: &Report) -> File {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("report.html");
    std::fs::write(&path, page(report)).expect("written");
    File { path, _folder: folder }
}

/// Nothing went wrong in the browser, and it asked for nothing but the file.
pub fn assert_quiet(browser: &Browser) {
    assert_eq!(browser.complaints(), [] as [&str; 0]);
    let requests = browser.requests();
    assert!(requests.iter().any(|url| url.starts_with("file:///")), "the file itself was opened");
    let own = |url: &String| url.starts_with("file:///") || url.starts_with("data:");
    assert_eq!(requests.iter().find(|url| !own(url)), None);
}
