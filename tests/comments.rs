//! A comment opens with its subject, not with a fragment such as "What a step takes of memory".

use std::path::{Path, PathBuf};

const FOLDERS: [&str; 6] = ["benches", "crates", "criterion-report", "examples", "src", "tests"];

const EXTENSIONS: [&str; 8] = ["rs", "c", "cpp", "h", "cu", "cuh", "js", "py"];

/// Comments that clap prints as help, and so are no comments.
const HELP: [(&str, &str); 6] = [
    (
        "crates/cargo-torch-bench/src/kernels/configs.rs",
        "What a kernel does not list is reported as skipped.",
    ),
    ("crates/plan/src/flag.rs", "The same, where cases may be new"),
    ("criterion-report/src/cli/compare/mod.rs", "The same, of the changed code"),
    (
        "criterion-report/src/export/mod.rs",
        "The same in lines: first the common part, then one line per case",
    ),
    ("criterion-report/src/views/explain/text/mod.rs", "The same as lists and tables"),
    ("criterion-report/src/views/summary.rs", "The same as tables"),
];

/// Openings that are refused in every comment.
const FRAGMENTS: [&str; 8] =
    ["Of ", "What ", "Who ", "That of ", "Those ", "The same", "So ", "As many"];

/// Words behind a comma that begin no main clause.
const CONTINUED: [&str; 7] = ["and ", "by ", "how ", "if ", "in ", "or ", "the best first"];

/// The refused opening of a comment, if it has one.
fn fragment(text: &str) -> Option<&'static str> {
    let ends = [". ", ": ", "; "].into_iter().filter_map(|end| text.find(end));
    let sentence = &text[..ends.min().unwrap_or(text.len())];
    if let Some(clause) = sentence.strip_prefix("Where ") {
        // A part that continues or qualifies the clause is no main clause.
        let is_main = |rest: &str| !CONTINUED.iter().any(|it| rest.starts_with(it));
        if !clause.split(", ").skip(1).any(is_main) {
            return Some("Where … without a main clause");
        }
    }
    if sentence.starts_with("Another ") && sentence.contains(" than ") {
        return Some("Another … than");
    }
    FRAGMENTS.into_iter().find(|it| text.starts_with(it))
}

/// The sign of the comment that a line consists of, and its text.
fn comment<'l>(line: &'l str, signs: &[&'static str]) -> Option<(&'static str, &'l str)> {
    let line = line.trim();
    signs.iter().find_map(|&sign| Some((sign, line.strip_prefix(sign)?.trim())))
}

/// The paragraphs of a file's comments, each with the number of its first line. A heading is one, too.
fn paragraphs(text: &str, is_python: bool) -> Vec<(usize, String)> {
    let signs: &[&str] = if is_python { &["#"] } else { &["///", "//!", "//", "/**"] };
    let mut found: Vec<(usize, String)> = Vec::new();
    // The sign of the paragraph that the next line may continue.
    let mut open = None;
    for (number, line) in (1..).zip(text.lines()) {
        let Some((sign, text)) = comment(line, signs).filter(|(_, text)| !text.is_empty()) else {
            open = None;
            continue;
        };
        match found.last_mut() {
            Some((_, paragraph)) if open == Some(sign) => *paragraph += &format!(" {text}"),
            _ => found.push((number, text.to_owned())),
        }
        open = Some(sign).filter(|_| !text.starts_with('#'));
    }
    found
}

/// `file:line: the rule: the comment` for each comment that is refused.
fn refused(file: &str, text: &str) -> Vec<String> {
    let paragraphs = paragraphs(text, file.ends_with(".py")).into_iter();
    let allowed = |text: &str| HELP.contains(&(file, text));
    let refusal = |(line, text): (usize, String)| {
        let rule = fragment(&text).filter(|_| !allowed(&text))?;
        Some(format!("{file}:{line}: opens with \"{rule}\": {text}"))
    };
    paragraphs.filter_map(refusal).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Adds the sources below a folder. Folders of builds and hidden ones hold none.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is in the repository") {
        let path = entry.expect("readable").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("plain names");
        let extension = path.extension().and_then(|it| it.to_str());
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, found);
        } else if extension.is_some_and(|it| EXTENSIONS.contains(&it)) {
            found.push(path);
        }
    }
}

#[test]
fn comments_open_with_their_subject() {
    let mut files = vec![root().join("build.rs")];
    FOLDERS.iter().for_each(|folder| sources(&root().join(folder), &mut files));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("readable");
        let name = file.strip_prefix(root()).expect("a file of the repository");
        all.extend(refused(name.to_str().expect("plain names"), &text));
    }
    assert!(all.is_empty(), "{} comments are fragments:\n{}", all.len(), all.join("\n"));
}

#[test]
fn help_that_is_let_through_is_there() {
    for (file, text) in HELP {
        let source = std::fs::read_to_string(root().join(file)).expect(file);
        assert!(paragraphs(&source, false).iter().any(|(_, it)| it == text), "{file}: {text}");
    }
}

#[test]
fn fragments_are_refused_and_sentences_are_not() {
    for (text, rule) in [
        ("Of the five tensors two are left.", "Of "),
        ("What a step takes of memory.", "What "),
        ("Who may not mount has files of 4 KiB.", "Who "),
        ("That of the whole step.", "That of "),
        ("Those of this process.", "Those "),
        ("The same, as text.", "The same"),
        ("So many rows.", "So "),
        ("As many lanes of 16 bits.", "As many"),
        ("Where it ran.", "Where … without a main clause"),
        ("Where it ran: the device, or none.", "Where … without a main clause"),
        ("Where a case runs, and how.", "Where … without a main clause"),
        ("Where times come from, the best first.", "Where … without a main clause"),
        ("Another kernel than that of the baseline.", "Another … than"),
    ] {
        assert_eq!(fragment(text), Some(rule), "{text}");
    }
    for text in [
        "The memory that a step takes, in bytes.",
        "Where oneDNN has no kernel, ATen's is used.",
        "Another kernel. It is slower than the first.",
        "Whether the step is timed.",
        "Offsets of rows.",
        "",
    ] {
        assert_eq!(fragment(text), None, "{text}");
    }
}

#[test]
fn a_refusal_names_file_line_and_rule() {
    let rust = "//! A file.\n//!\n//! What it\n//! holds.\n\n/// # Errors\n    /// Those of `f`.\n\
                fn f() {} // So it is.\n/// A line\n/// What ends.\n// Of another sign.\n";
    assert_eq!(
        refused("a.rs", rust),
        [
            "a.rs:3: opens with \"What \": What it holds.",
            "a.rs:7: opens with \"Those \": Those of `f`.",
            "a.rs:11: opens with \"Of \": Of another sign.",
        ]
    );
    let python = ["a.py:2: opens with \"The same\": The same."];
    assert_eq!(refused("a.py", "x = 1\n# The same.\n"), python);
    let javascript = ["a.js:1: opens with \"Those \": Those of a group. */"];
    assert_eq!(refused("a.js", "/** Those of a group. */\n"), javascript);
    assert!(refused("a.rs", "# What is no comment here.\n").is_empty());
}
