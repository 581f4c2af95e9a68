//! For tests: programs that stand in for others.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Writes a script that can be executed, with its `#!` line.
///
/// Another process writes it: a file that this one has open for writing, or a child of another test's thread still has,
/// cannot be executed.
pub fn program(path: PathBuf, text: &str) -> PathBuf {
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success(), "{}", path.display());
    path
}
