//! How a test says that it cannot run on this machine. Shared by the tests of all packages.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::thread;

/// A variable: where it is set, a missing tool fails a test.
const REQUIRED: &str = "CRITERION_TORCH_REQUIRE_TOOLS";

/// A variable: the file in which `cargo xtask test` counts skipped tests.
const LIST: &str = "CRITERION_TORCH_SKIPPED";

/// Skips for want of a program or library that can be installed on any machine.
#[track_caller]
pub fn tool(reason: impl Display) {
    assert!(env::var_os(REQUIRED).is_none(), "{REQUIRED} is set: {reason}");
    hardware(reason);
}

/// Skips for want of a device or of instructions, which nobody can install.
pub fn hardware(reason: impl Display) {
    let thread = thread::current();
    let reason = reason.to_string().replace('\n', " ");
    let line = format!("skipped: {}: {reason}\n", thread.name().unwrap_or("a test"));
    // libtest captures what is written by macros, not what is written to the handle.
    io::stderr().write_all(line.as_bytes()).expect("stderr takes a line");
    if let Some(path) = env::var_os(LIST) {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{LIST} {}: {error}", path.display()));
    }
}
