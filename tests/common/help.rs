//! The help of a program's commands: `-h` fits on a screen, and `--help` has an example and a page.

use std::path::Path;

use clap::Command;

/// Lines and columns of the screen.
const LINES: usize = 40;
#[allow(dead_code, reason = "the tool has a narrower width of its own")]
pub const COLUMNS: usize = 100;

/// Checks the help of a command and of all below it, rendered in so many columns, and returns their
/// examples. `shown` is the program's change to a text before it prints it.
pub fn examples(command: Command, columns: usize, shown: fn(&str) -> String) -> Vec<String> {
    let mut command = command.term_width(columns);
    command.build();
    let mut found = Vec::new();
    check(&mut command, shown, &mut found);
    found
}

fn check(command: &mut Command, shown: fn(&str) -> String, found: &mut Vec<String>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let short = shown(&command.render_help().to_string());
    let long = shown(&command.render_long_help().to_string());
    assert!(short.lines().count() <= LINES, "{name} -h has over {LINES} lines:\n{short}");
    for line in short.lines().chain(long.lines()) {
        assert!(line.chars().count() <= COLUMNS, "{name}: over {COLUMNS} columns: {line}");
    }
    let examples = long.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    let examples: Vec<&str> = examples.take_while(|line| line.starts_with("  ")).collect();
    assert!(!examples.is_empty(), "{name} --help has no example:\n{long}");
    found.extend(examples.iter().map(|line| line.trim().to_owned()));
    let page = long.lines().find_map(|line| line.strip_prefix("Read more: "));
    let page = page.unwrap_or_else(|| panic!("{name} --help names no page:\n{long}"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut root = root.filter(|folder| folder.join("docs/book").is_dir());
    let root = root.next().expect("the documents lie in the repository");
    assert!(root.join(page).is_file(), "{name} --help names {page}, which does not exist");
    for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
        check(below, shown, found);
    }
}
