//! Results in documents: between two comments stands what a file of `docs/results` holds.
//!
//! ```text
//! <!-- result: amd-epyc-2-cpus/inference.txt -->
//! <!-- end -->
//! ```

use std::path::{Path, PathBuf};

use super::header::Header;
use super::{RESULTS, entry};
use crate::error::{Error, Result};
use crate::files;

const BEGIN: &str = "<!-- result: ";
const END: &str = "<!-- end -->";

/// Puts the stored results into every document.
pub fn write(root: &Path) -> Result<()> {
    for document in documents(root)? {
        let text = files::read(&document)?;
        let spliced = splice(root, &document, &text)?;
        if spliced != text {
            files::write(&document, spliced)?;
            eprintln!("wrote {}", document.display());
        }
    }
    Ok(())
}

/// In the root, `docs` and `docs/results`.
fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in [root.to_owned(), root.join("docs"), root.join(RESULTS)] {
        found.extend(files::inside(&folder)?);
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    Ok(found)
}

/// The document with what is stored now.
fn splice(root: &Path, document: &Path, text: &str) -> Result<String> {
    let (mut spliced, mut lines) = (String::new(), text.lines().enumerate());
    while let Some((number, line)) = lines.next() {
        spliced += &format!("{line}\n");
        let Some(name) = line.strip_prefix(BEGIN).and_then(|it| it.strip_suffix(" -->")) else {
            continue;
        };
        let place = format!("{}:{}", document.display(), number + 1);
        if !lines.any(|(_, line)| line == END) {
            return Err(Error::new(format!("{place}: no `{END}` follows")));
        }
        let entry = entry::of_file(name.rsplit('/').next().unwrap_or(name)).ok_or_else(|| {
            Error::new(format!("{place}: there is no result `{name}`"))
                .remedy("cargo xtask results --list shows their files")
        })?;
        let path = root.join(RESULTS).join(name);
        spliced += &if path.exists() {
            shown(&files::read(&path)?, &format!("{}{name}", way(root, document)))
        } else {
            format!("Not measured yet: `cargo xtask results {}`.\n", entry.name)
        };
        spliced += &format!("{END}\n");
    }
    Ok(spliced)
}

/// The text that stands for a file, with a link to it.
fn shown(stored: &str, link: &str) -> String {
    let (header, body) = Header::split(stored);
    let get = |key| header.get(key).unwrap_or("unknown");
    let commit: String = get("commit").chars().take(12).collect();
    let body = body.trim_end();
    format!("```text\n{body}\n```\n\n[Measured]({link}) on {}, commit {commit}.\n", get("date"))
}

/// The relative path from the document to the results.
fn way(root: &Path, document: &Path) -> &'static str {
    match document.parent() {
        Some(folder) if folder == root.join(RESULTS) => "",
        Some(folder) if folder == root.join("docs") => "results/",
        _ => "docs/results/",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git;
    use crate::skip;

    fn root() -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.canonicalize().expect("the clone is there")
    }

    #[test]
    fn documents_hold_what_is_stored() {
        let root = root();
        let mut results = 0;
        for document in documents(&root).expect("readable") {
            let text = files::read(&document).expect("readable");
            results += text.lines().filter(|line| line.starts_with(BEGIN)).count();
            let spliced = splice(&root, &document, &text).unwrap_or_else(|error| panic!("{error}"));
            let what = document.display();
            assert!(spliced == text, "{what} is not up to date: run cargo xtask results --docs");
        }
        assert!(results > 3, "{results} results in the documents");
    }

    /// Each comes from a command that still exists, and from a commit that is in the history.
    #[test]
    fn every_stored_file_can_be_made_again() {
        let root = root();
        let shallow = git::git(&root, &["rev-parse", "--is-shallow-repository"]).expect("git");
        let shown = git::git(&root, &["ls-files", RESULTS, "docs/images"]).expect("git");
        let files = shown.lines().filter(|path| path.ends_with(".txt"));
        let mut count = 0;
        for path in files {
            let stored = files::read(&root.join(path)).expect("readable");
            let (header, body) = Header::split(&stored);
            let name = path.rsplit('/').next().expect("it has a name");
            let known = |file: &str| file.replace(".png", ".txt") == name;
            let picture = name.replace(".txt", ".png");
            let entry = entry::of_file(name).or_else(|| entry::of_file(&picture));
            let entry = entry.unwrap_or_else(|| panic!("{path}: no entry makes it"));
            for key in ["machine", "libtorch", "rustc", "commit", "date", "quiet", "command"] {
                assert!(header.get(key).is_some(), "{path}: no {key}");
            }
            let file = entry.files.iter().find(|file| known(file.name)).expect("found above");
            let commands: Vec<&str> =
                header.lines.iter().filter(|(key, _)| key == "command").map(|it| &*it.1).collect();
            let now: Vec<&str> = entry.runs.iter().copied().chain([file.command]).collect();
            assert_eq!(commands, now, "{path}: other commands make it now");
            assert!(!body.contains("-dirty"), "{path}: of a commit and changes");
            let commit = header.get("commit").unwrap_or_default();
            if shallow == "true" {
                skip::tool("a shallow clone does not have the commits of results");
            } else {
                let found = git::ask(&root, &["cat-file", "-e", &format!("{commit}^{{commit}}")]);
                assert!(found.expect("git").is_some(), "{path}: there is no commit {commit}");
            }
            count += 1;
        }
        assert!(count > 3, "{count} files");
    }

    #[test]
    fn a_result_replaces_what_stood_there() {
        let root = std::env::temp_dir().join(format!("xtask-splice-{}", std::process::id()));
        let folder = root.join(RESULTS).join("m");
        fs::create_dir_all(&folder).expect("a folder");
        let commit = "0123456789abcdef";
        let stored = format!("# machine: a\n# commit: {commit}\n# date: today\n\na  1.0\n\nb ¹\n");
        fs::write(folder.join("repeat.txt"), stored).expect("a result");
        let old = "before\n<!-- result: m/repeat.txt -->\nold\n<!-- end -->\nafter\n";
        let new = "before\n<!-- result: m/repeat.txt -->\n```text\na  1.0\n\nb ¹\n```\n\n\
                   [Measured](LINKm/repeat.txt) on today, commit 0123456789ab.\n<!-- end -->\nafter\n";
        for (document, link) in
            [("A.md", "docs/results/"), ("docs/A.md", "results/"), ("docs/results/A.md", "")]
        {
            let new = new.replace("LINK", link);
            for text in [old, &new] {
                assert_eq!(splice(&root, &root.join(document), text).as_ref(), Ok(&new));
            }
        }
        let unmeasured = "<!-- result: m/fusion.txt -->\n<!-- end -->\n";
        let spliced = splice(&root, Path::new("A.md"), unmeasured).expect("it is in the table");
        assert!(
            spliced.contains("\nNot measured yet: `cargo xtask results fusion`.\n"),
            "{spliced}"
        );
        for (text, what) in [
            ("<!-- result: m/repeat.txt -->\n", "A.md:1: no `<!-- end -->` follows"),
            ("\n<!-- result: m/b.txt -->\n<!-- end -->\n", "A.md:2: there is no result `m/b.txt`"),
        ] {
            let error = splice(&root, Path::new("A.md"), text).expect_err(text);
            assert!(error.what().starts_with(what), "{error}");
        }
        fs::remove_dir_all(&root).expect("removed");
    }
}
