//! The command as the user typed it: `cargo torch-bench`, or this repository's alias `cargo xtask`.

use std::ffi::OsString;
use std::sync::OnceLock;

/// The alias, with which all texts are written.
pub const ALIAS: &str = "cargo xtask";
/// Cargo passes the name of a subcommand on as its first argument.
const SUBCOMMAND: &str = "torch-bench";

static TYPED: OnceLock<&str> = OnceLock::new();

/// Takes cargo's word out of a command line, and remembers that it was there.
pub fn settle(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == SUBCOMMAND) {
        words.remove(1);
        TYPED.get_or_init(|| "cargo torch-bench");
    }
    words
}

pub fn typed() -> &'static str {
    TYPED.get().unwrap_or(&ALIAS)
}

/// A text that names the alias, with the command that was typed instead.
pub fn as_typed(text: &str) -> String {
    text.replace(ALIAS, typed())
}

/// One of our commands, for messages: "cargo xtask setup --python".
pub fn ours(arguments: &str) -> String {
    format!("{} {arguments}", typed())
}
