//! The command line.

use std::ffi::OsString;

use crate::error::{Error, Result};
use crate::flavour::Flavour;
use crate::help;

#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    Setup {
        /// None: keep what is linked, else what the machine can use.
        flavour: Option<Flavour>,
    },
    /// The arguments go to `cargo bench` as they are.
    Bench {
        arguments: Vec<OsString>,
    },
    /// The arguments go to `cargo test` as they are.
    Test {
        arguments: Vec<OsString>,
    },
    Doctor,
    Help(&'static str),
}

pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Command> {
    let Some(command) = arguments.next() else {
        return Err(usage("a command is missing"));
    };
    let rest: Vec<OsString> = arguments.collect();
    match command.to_string_lossy().as_ref() {
        "setup" => setup(&rest),
        "doctor" => match rest.first() {
            None => Ok(Command::Doctor),
            Some(word) if is_help(word) => Ok(Command::Help(help::DOCTOR)),
            Some(word) => Err(unknown("doctor", word)),
        },
        // After `--` the word belongs to criterion or libtest.
        "bench" if asks_for_help(&rest) => Ok(Command::Help(help::BENCH)),
        "bench" => Ok(Command::Bench { arguments: rest }),
        "test" if asks_for_help(&rest) => Ok(Command::Help(help::TEST)),
        "test" => Ok(Command::Test { arguments: rest }),
        "help" | "--help" | "-h" => {
            Ok(Command::Help(match rest.first().and_then(|w| w.to_str()) {
                Some("setup") => help::SETUP,
                Some("bench") => help::BENCH,
                Some("test") => help::TEST,
                Some("doctor") => help::DOCTOR,
                _ => help::ALL,
            }))
        }
        other => Err(usage(&format!("unknown command \"{other}\""))),
    }
}

fn setup(arguments: &[OsString]) -> Result<Command> {
    let mut flavour = None;
    for word in arguments {
        if is_help(word) {
            return Ok(Command::Help(help::SETUP));
        }
        let asked = Flavour::ALL
            .into_iter()
            .find(|known| word.to_str().and_then(|w| w.strip_prefix("--")) == Some(known.as_str()))
            .ok_or_else(|| unknown("setup", word))?;
        if flavour.is_some_and(|before| before != asked) {
            return Err(usage("setup takes --cpu or --cuda, not both"));
        }
        flavour = Some(asked);
    }
    if flavour == Some(Flavour::Cuda) && !cfg!(target_os = "linux") {
        return Err(usage("--cuda: torch has CUDA wheels for Linux only"));
    }
    Ok(Command::Setup { flavour })
}

fn asks_for_help(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|word| *word != "--").any(is_help)
}

fn is_help(word: &OsString) -> bool {
    word == "--help" || word == "-h"
}

fn unknown(command: &str, word: &OsString) -> Error {
    usage(&format!("{command} does not know \"{}\"", word.display()))
}

fn usage(what: &str) -> Error {
    Error::usage(what).remedy("the commands are setup, bench, test and doctor: cargo xtask --help")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_command_is_understood() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect();
        for (line, command) in [
            ("setup", Command::Setup { flavour: None }),
            ("setup --cpu", Command::Setup { flavour: Some(Flavour::Cpu) }),
            ("setup --cpu --cpu", Command::Setup { flavour: Some(Flavour::Cpu) }),
            ("bench", Command::Bench { arguments: vec![] }),
            (
                "bench --bench inference -- int8wo --help",
                Command::Bench { arguments: words("--bench inference -- int8wo --help") },
            ),
            (
                "test expand -- --nocapture",
                Command::Test { arguments: words("expand -- --nocapture") },
            ),
            ("doctor", Command::Doctor),
            ("--help", Command::Help(help::ALL)),
            ("help bench", Command::Help(help::BENCH)),
            ("bench --help", Command::Help(help::BENCH)),
            ("setup -h", Command::Help(help::SETUP)),
        ] {
            assert_eq!(parsed(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn anything_else_is_a_usage_error() {
        for (line, what) in [
            ("", "a command is missing"),
            ("instal", "unknown command \"instal\""),
            ("setup --rocm", "setup does not know \"--rocm\""),
            ("setup cpu", "setup does not know \"cpu\""),
            ("doctor --fix", "doctor does not know \"--fix\""),
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!((error.what(), error.exit_code()), (what, 2));
        }
    }
}
