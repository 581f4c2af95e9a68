//! For tests: what stands in for a Python.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A shell script that runs instead of a Python. It finds the program in `$2`.
pub fn fake(folder: &Path, body: &str) -> PathBuf {
    let path = folder.join("python");
    // Written by another process: a file that this one has open for writing, or a child of another
    // test's thread still has, cannot be executed.
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{body}\n").as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
    path
}
