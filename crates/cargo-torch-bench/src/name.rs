//! The command as the user typed it: `cargo torch-bench`, or this repository's alias `cargo xtask`.

use std::ffi::OsString;

use ::libtorch::command;
use clap::ValueEnum;

/// The alias, with which all texts are written.
pub const ALIAS: &str = command::ALIAS;

/// Takes the name of a subcommand, which cargo passes on, out of a command line, and remembers whether it
/// was there.
pub fn settle(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "torch-bench") {
        words.remove(1);
        command::called(command::INSTALLED);
    }
    command::called(ALIAS);
    words
}

/// A text that names the alias, with the command that was typed instead.
pub fn as_typed(text: &str) -> String {
    text.replace(ALIAS, command::name())
}

/// A value of an option as it is written on the command line.
pub fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().expect("none is hidden").get_name().to_owned()
}
