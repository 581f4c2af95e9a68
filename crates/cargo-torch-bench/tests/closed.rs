//! Every form of the tool with a standard output that nobody reads: it does what it does, and ends as it does.

use std::process::Stdio;

use crate::common::Scratch;
use crate::common::closed::{
    assert_closed_changes_nothing, assert_full_is_an_error, closed, ended,
};

/// A line for each command, `--help` and mistakes; each is run in a clone of its own.
const LINES: [&str; 22] = [
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
    "recommend nowhere.json",
    "kernels",
    "judge nowhere --task nowhere",
    "flavour",
    "python",
    "cache",
    "cache clear",
    "doctor",
    "new",
];

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
        assert_closed_changes_nothing(line);
    }
}

/// Whoever writes to a full disk has not what was asked for.
#[test]
fn a_full_output_is_an_error_of_its_own() {
    for line in ["flavour", "cache"] {
        assert_full_is_an_error(line);
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
