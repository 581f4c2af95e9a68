//! `libtorch`'s constants, the manifest, the requirements and the texts name the same releases.

use std::fs;
use std::path::{Path, PathBuf};

use libtorch::{TCH, TORCHAO, TRITON, VERSION};
use toml_edit::DocumentMut;
use walkdir::WalkDir;

/// Packages as texts name them: "libtorch 2.11.0", "torch==2.11.0", "triton 3.6.0".
const NAMED: [(&str, &str); 3] = [("torch", VERSION), ("torchao", TORCHAO), ("triton", TRITON)];

/// Texts that name the releases: help, errors, documents.
const TEXTS: [&str; 6] =
    ["README.md", "CONTRIBUTING.md", "src", "crates", "criterion-report/src", "docs/book/src"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_manifest_pins_tch() {
    let manifest: DocumentMut = read(&root().join("Cargo.toml")).parse().expect("a manifest");
    let lock = read(&root().join("Cargo.lock"));
    for name in ["tch", "torch-sys"] {
        let pin = manifest["workspace"]["dependencies"][name]["version"].as_str();
        assert_eq!(pin, Some(&*format!("={TCH}")), "{name} in Cargo.toml");
        assert!(
            lock.contains(&format!("name = \"{name}\"\nversion = \"{TCH}\"")),
            "{name} in Cargo.lock"
        );
    }
}

#[test]
fn the_requirements_ask_for_torch_and_torchao() {
    let torch = format!("torch=={VERSION}");
    for (file, expected) in [
        ("cpu.in", vec![torch.clone()]),
        ("cuda.in", vec![torch.clone()]),
        ("python.in", vec![torch, format!("torchao=={TORCHAO}")]),
    ] {
        let text = read(&root().join("crates/cargo-torch-bench/requirements").join(file));
        let found: Vec<_> = text.lines().filter(|line| line.starts_with("torch")).collect();
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn texts_name_the_same_releases() {
    let mut wrong = Vec::new();
    let mut right = [0; NAMED.len()];
    for path in texts() {
        let is_page = path.extension().is_some_and(|it| it == "md");
        let mut block = None;
        let text = read(&path);
        let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                block = if block.is_none() { Some(language.to_owned()) } else { None };
            }
            // Other blocks show output, which is true of the release that wrote it.
            if block.as_deref().is_some_and(|language| is_page && language != "sh") {
                continue;
            }
            for ((name, release), right) in NAMED.into_iter().zip(&mut right) {
                for found in releases(line, name) {
                    if found == release {
                        *right += 1;
                    } else {
                        let path = path.strip_prefix(root()).expect("a file of the repository");
                        wrong.push(format!("{}:{}: {line}", path.display(), number + 1));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "wanted {NAMED:?}:\n{}", wrong.join("\n"));
    assert!(right.iter().all(|&it| it > 0), "texts name all three: {right:?}");
}

/// The files of [`TEXTS`] without tests.
fn texts() -> Vec<PathBuf> {
    let is_searched = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Each recipe names the torchao whose formulas it follows, which may be an older one.
        let is_skipped = ["tests", "tests.rs", "target", "recipes"].contains(&&*name);
        !is_skipped && !name.ends_with("_tests.rs")
    };
    let files = TEXTS.iter().flat_map(|text| {
        let entries = WalkDir::new(root().join(text)).into_iter();
        entries.filter_entry(|it| is_searched(it.path())).map(|it| it.expect("a readable folder"))
    });
    let is_text = |path: &PathBuf| path.extension().is_some_and(|it| it == "rs" || it == "md");
    files.map(walkdir::DirEntry::into_path).filter(is_text).collect()
}

/// The releases of three numbers that `line` names after `package`.
fn releases<'a>(line: &'a str, package: &str) -> impl Iterator<Item = &'a str> {
    line.match_indices(package).filter_map(move |(at, _)| {
        let rest = &line[at + package.len()..];
        let rest = rest.strip_prefix("==").or_else(|| rest.strip_prefix(' '))?;
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
        let release = rest[..end].trim_end_matches('.');
        (release.split('.').count() == 3).then_some(release)
    })
}

#[test]
fn a_release_is_read_from_a_line() {
    let found = |line| releases(line, "torch").collect::<Vec<_>>();
    assert_eq!(found("a libtorch 2.11.0, torch==2.10.0."), ["2.11.0", "2.10.0"]);
    assert_eq!(found("torchao 0.17.0 and libtorch 2.11 of torch-2.11.0-cpu"), [""; 0]);
}
