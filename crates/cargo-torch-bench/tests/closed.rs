//! Every form of the tool with a standard output that nobody reads: it does what it does, and ends as it does.

use std::fs::File;
use std::io;
use std::process::Stdio;

use crate::common::{Outcome, Scratch};

/// A line for each command, `--help` and mistakes; each is run in a clone of its own.
const LINES: [&str; 24] = [
    "--help",
    "bench --help",
    "no-such-command",
    "setup --cpu",
    "setup --python",
    "bench",
    "bench --repeat 2",
    "bundle --output x.tar",
    "submit --to slurm --bundle nowhere",
    "compare-branches a b",
    "compare-branches --clean",
    "calibrate",
    "operators",
    "kernels",
    "test",
    "results --list",
    "compare-torchao x.yml",
    "flavour",
    "python",
    "cache",
    "cache clear",
    "gpu-check",
    "doctor",
    "new",
];

/// How a line ends, and what it leaves in the cache and in the log of what it has started.
fn ended(line: &str, out: impl Fn() -> Stdio) -> (Option<i32>, Vec<String>, usize, String) {
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
fn closed() -> Stdio {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_output_changes_nothing() {
    let help = Scratch::new().run(&["--help"]);
    let commands = help.stdout.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let commands = commands.take_while(|line| !line.is_empty()).filter_map(|line| {
        let line = line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?;
        line.split_whitespace().next()
    });
    for command in commands.filter(|it| *it != "help") {
        let is_tried = LINES.iter().any(|line| line.split(' ').next() == Some(command));
        assert!(is_tried, "{command} is not among the lines");
    }
    for line in LINES {
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
}

/// Whoever writes to a full disk has not what was asked for.
#[test]
fn a_full_output_is_an_error_of_its_own() {
    let full = || File::options().write(true).open("/dev/full").expect("Linux has it").into();
    for line in ["flavour", "results --list", "cache"] {
        let (code, _, _, stderr) = ended(line, full);
        assert_eq!(code, Some(1), "{line}: {stderr}");
        assert!(stderr.contains("cannot write to standard output: No space left"), "{stderr}");
    }
}

#[test]
fn a_closed_error_output_changes_nothing() {
    for line in ["setup --cpu", "new", "bench"] {
        let scratch = Scratch::new();
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut tool = scratch.xtask(&[&["torch-bench"], &words[..]].concat());
        let code = tool.stdout(Stdio::null()).stderr(closed()).status().expect("it runs").code();
        let (expected, cached, ..) = ended(line, Stdio::piped);
        assert_eq!((code, scratch.finished_and_begun()), (expected, cached), "{line}");
    }
}
