//! A release, as far as no runner is needed: its notes, its archives and their checksums, and that `cargo binstall` finds in an
//! archive what the manifests say.
#![cfg(target_os = "linux")]

mod common;
#[path = "../../../tests/common/program.rs"]
mod program;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::root;
use program::program;
use tempfile::TempDir;

const TARGET: &str = "x86_64-unknown-linux-gnu";

const CHANGELOG: &str = "\
# Changelog

## [Unreleased]

Not yet.

## [0.2.0] - 2027-01-02

### Added

- A second thing,
  in two lines.

## [0.2.0-rc.1] - 2027-01-01

- A candidate.

## [0.1.0] - 2026-12-01

## [0.0.1] - 2026-11-01

- The first.

[0.2.0]: https://example.org/compare
";

/// The packages with programs, their folders, and the programs.
const PACKAGES: [(&str, &str, &[&str]); 2] = [
    ("cargo-torch-bench", "crates/cargo-torch-bench", &["cargo-torch-bench"]),
    ("criterion-report", "criterion-report", &["criterion-report", "cargo-criterion-report"]),
];

fn script(name: &str) -> Command {
    Command::new(root().join(".github/scripts").join(name))
}

/// Returns its output; panics if it fails.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.output().expect("it can be started");
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns its error message; panics if it succeeds.
#[track_caller]
fn refused(command: &mut Command) -> String {
    let output = command.output().expect("it can be started");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    stderr(&output)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a program for each that the packages have; each prints its name.
fn binaries(folder: &Path) -> PathBuf {
    let binaries = folder.join("binaries");
    fs::create_dir(&binaries).expect("writable");
    for name in PACKAGES.iter().flat_map(|package| package.2) {
        program(binaries.join(name), &format!("#!/bin/sh\necho {name}\n"));
    }
    binaries
}

/// Packs both packages into `dist`.
fn packed(folder: &TempDir, version: &str) -> PathBuf {
    let (binaries, dist) = (binaries(folder.path()), folder.path().join("dist"));
    for (package, ..) in PACKAGES {
        let mut pack = script("package_release.sh");
        let archive = printed(pack.args([package, version, TARGET]).arg(&binaries).arg(&dist));
        assert!(Path::new(archive.trim_end()).is_file(), "{archive}");
    }
    dist
}

#[test]
fn notes_are_the_section_of_the_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let changelog = folder.path().join("CHANGELOG.md");
    fs::write(&changelog, CHANGELOG).expect("writable");
    let notes = |version: &str| {
        let mut notes = script("release_notes.sh");
        notes.arg(version).arg(&changelog);
        notes
    };
    assert_eq!(printed(&mut notes("0.2.0")), "### Added\n\n- A second thing,\n  in two lines.\n");
    assert_eq!(printed(&mut notes("0.2.0-rc.1")), "- A candidate.\n");
    assert_eq!(printed(&mut notes("0.0.1")), "- The first.\n", "the links are not a part");
    // A dot stands for itself alone.
    for version in ["0.3.0", "0x2.0", "0.2"] {
        let error = refused(&mut notes(version));
        let expected = format!(
            "error: {}: no section ## [{version}]: rename ## [Unreleased] to ## [{version}] - ",
            changelog.display()
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    let empty = refused(&mut notes("0.1.0"));
    assert!(empty.contains("the section ## [0.1.0] is empty: write what"), "{empty}");
}

#[test]
fn the_changelog_has_notes_for_the_next_release() {
    let notes = printed(script("release_notes.sh").arg("Unreleased"));
    assert!(notes.contains("\n### Added\n\n- "), "{notes}");
}

#[test]
fn only_the_version_of_the_manifest_is_released() {
    let tag = |tag: &str| {
        let mut version = script("release_version.sh");
        version.arg(tag).current_dir(root());
        version
    };
    let here = env!("CARGO_PKG_VERSION");
    let other = refused(&mut tag("v99.0.0"));
    assert_eq!(
        other,
        format!(
            "error: Cargo.toml: version is {here}, but the tag is v99.0.0: tag v{here}, or change [workspace.package] version\n"
        )
    );
    // Without an address of the repository, nobody can install from a release.
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("readable");
    let mut tag = tag(&format!("v{here}"));
    if manifest.contains("\nrepository = ") {
        assert_eq!(printed(&mut tag), format!("{here}\n"));
    } else {
        let error = refused(&mut tag);
        assert!(
            error.contains("criterion-report") && error.contains("add repository ="),
            "{error}"
        );
    }
}

/// The value of a key of `[package.metadata.binstall]`, with its variables filled in.
fn binstall(folder: &str, key: &str, variables: &[(&str, &str)]) -> String {
    let path = root().join(folder).join("Cargo.toml");
    let manifest: toml::Table =
        fs::read_to_string(&path).expect("readable").parse().expect("a manifest");
    let value = manifest["package"]["metadata"]["binstall"][key].as_str().expect("text");
    variables
        .iter()
        .fold(value.to_owned(), |value, (name, text)| value.replace(&format!("{{ {name} }}"), text))
}

#[test]
fn binstall_finds_every_program_in_the_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let dist = packed(&folder, "1.2.3");
    for (package, manifest, programs) in PACKAGES {
        let variables = [
            ("repo", "https://example.org/project"),
            ("name", package),
            ("version", "1.2.3"),
            ("target", TARGET),
            ("binary-ext", ""),
        ];
        let url = binstall(manifest, "pkg-url", &variables);
        let name = url.strip_prefix("https://example.org/project/releases/download/v1.2.3/");
        let archive = dist.join(name.expect("in the release of the tag v1.2.3"));
        assert_eq!(binstall(manifest, "pkg-fmt", &[]), "tgz", "{}", archive.display());
        let unpacked = folder.path().join(package);
        fs::create_dir(&unpacked).expect("writable");
        printed(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&unpacked));

        let top = binstall(manifest, "bin-dir", &[&variables[..], &[("bin", "")]].concat());
        let mut expected: BTreeSet<String> =
            ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "README.md"].map(str::to_owned).into();
        for program in programs {
            let variables = [&variables[..], &[("bin", program)]].concat();
            let path = unpacked.join(binstall(manifest, "bin-dir", &variables));
            assert_eq!(printed(&mut Command::new(path)), format!("{program}\n"));
            expected.insert((*program).to_owned());
        }
        let files = fs::read_dir(unpacked.join(top)).expect("one folder");
        let files: BTreeSet<String> = files
            .map(|file| file.expect("readable").file_name().into_string().expect("UTF-8"))
            .collect();
        assert_eq!(files, expected);
    }
}

#[test]
fn a_package_or_program_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let binaries = binaries(folder.path());
    let pack = |package: &str| {
        let mut pack = script("package_release.sh");
        pack.args([package, "1.2.3", TARGET]).arg(&binaries).arg(folder.path().join("dist"));
        pack
    };
    let unknown = refused(&mut pack("criterion-reprot"));
    let expected = format!(
        "error: {}/Cargo.toml: the workspace has no package criterion-reprot\n",
        root().display()
    );
    assert_eq!(unknown, expected);
    let missing = binaries.join("cargo-criterion-report");
    fs::remove_file(&missing).expect("it is there");
    let error = refused(&mut pack("criterion-report"));
    let expected = format!(
        "error: {}: there is no such program: cargo build --release --target {TARGET} --package criterion-report\n",
        missing.display()
    );
    assert_eq!(error, expected);
    assert!(!folder.path().join("dist").exists(), "half an archive is none");
}

/// With a `gh` that writes down its arguments and the notes.
#[test]
fn the_release_has_every_archive_and_their_checksums() {
    let folder = tempfile::tempdir().expect("a folder");
    let dist = packed(&folder, "Unreleased");
    let gh = folder.path().join("bin/gh");
    fs::create_dir(gh.parent().expect("a folder")).expect("writable");
    program(
        gh.clone(),
        "#!/bin/sh\nprintf '%s\\n' \"$@\"\nwhile [ \"$1\" != --notes-file ]; do shift; done\ncat \"$2\"\n",
    );
    let path = std::env::var("PATH").expect("a PATH");
    let publish = || {
        let mut publish = script("publish_release.sh");
        publish.arg("Unreleased").arg(&dist);
        publish.env("PATH", format!("{}:{path}", gh.parent().expect("a folder").display()));
        publish
    };
    let said = printed(&mut publish());
    for (package, ..) in PACKAGES {
        let archive = format!("{package}-vUnreleased-{TARGET}.tar.gz");
        assert!(said.contains(&format!("{archive}: OK\n")), "{said}");
        assert!(said.contains(&format!("\n{}\n", dist.join(archive).display())), "{said}");
    }
    assert!(said.contains("release\ncreate\nvUnreleased\n--verify-tag\n"), "{said}");
    assert!(said.contains("/SHA256SUMS\n") && said.contains("### Added"), "{said}");

    // A damaged archive is not published.
    let damaged = dist.join(format!("criterion-report-vUnreleased-{TARGET}.tar.gz"));
    fs::write(&damaged, "damaged").expect("writable");
    let output = publish().output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && !said.contains("release\ncreate"), "{said}");
}
