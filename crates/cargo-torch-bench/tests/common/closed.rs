//! A standard output that nobody reads, or that is full.

use std::fs::File;
use std::io;
use std::process::Stdio;

use super::{Outcome, Scratch};

/// How a line ends, and what it leaves in the cache and in the log of what it has started.
pub fn ended(line: &str, out: impl Fn() -> Stdio) -> (Option<i32>, Vec<String>, usize, String) {
    let scratch = Scratch::new();
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut tool = scratch.xtask(&[&["torch-bench"], &words[..]].concat());
    tool.stdout(out());
    let outcome = Outcome::from(
        tool.stderr(Stdio::piped()).spawn().and_then(|it| it.wait_with_output()).expect("it runs"),
    );
    let started = scratch.log("cargo-calls").len() + scratch.installs().len();
    (outcome.code, scratch.finished_and_begun(), started, outcome.stderr)
}

/// A pipe whose reader has gone.
pub fn closed() -> Stdio {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// The line does what it does, and ends as it does.
pub fn assert_closed_changes_nothing(line: &str) {
    let (code, cached, started, stderr) = ended(line, Stdio::piped);
    let found = ended(line, closed);
    assert!(!found.3.contains("panicked"), "{line}: {}", found.3);
    assert_eq!(
        (found.0, &found.1, found.2),
        (code, &cached, started),
        "{line}: {stderr}\n{}",
        found.3
    );
}

/// Whoever writes to a full disk has not what was asked for.
pub fn assert_full_is_an_error(line: &str) {
    let full = || File::options().write(true).open("/dev/full").expect("Linux has it").into();
    let (code, _, _, stderr) = ended(line, full);
    assert_eq!(code, Some(1), "{line}: {stderr}");
    assert!(stderr.contains("cannot write to standard output: No space left"), "{stderr}");
}
