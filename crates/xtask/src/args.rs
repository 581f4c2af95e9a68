//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

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
    CompareTorchao(Comparison),
    Doctor,
    Help(&'static str),
}

/// What to compare, and with whose torchao.
#[derive(Debug, PartialEq, Eq)]
pub struct Comparison {
    pub config: PathBuf,
    /// A regular expression on the ids.
    pub filter: Option<OsString>,
    /// None: that of SELF_TEST_PYTHON, else one that is provisioned.
    pub python: Option<PathBuf>,
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
        "compare-torchao" if asks_for_help(&rest) => Ok(Command::Help(help::COMPARE_TORCHAO)),
        "compare-torchao" => comparison(rest.into_iter()).map(Command::CompareTorchao),
        "help" | "--help" | "-h" => {
            Ok(Command::Help(match rest.first().and_then(|w| w.to_str()) {
                Some("setup") => help::SETUP,
                Some("bench") => help::BENCH,
                Some("test") => help::TEST,
                Some("compare-torchao") => help::COMPARE_TORCHAO,
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

fn comparison(mut arguments: impl Iterator<Item = OsString>) -> Result<Comparison> {
    let (mut config, mut filter, mut python) = (None, None, None);
    while let Some(word) = arguments.next() {
        let text = word.to_string_lossy();
        let mut value = || {
            arguments.next().ok_or_else(|| usage(&format!("compare-torchao: {text} needs a value")))
        };
        match text.as_ref() {
            "--filter" => filter = Some(value()?),
            "--python" => python = Some(value()?.into()),
            flag if flag.starts_with('-') => return Err(unknown("compare-torchao", &word)),
            _ if config.is_some() => return Err(usage("compare-torchao takes one config")),
            _ => config = Some(PathBuf::from(word)),
        }
    }
    let config = config.ok_or_else(|| usage("compare-torchao needs a config"))?;
    Ok(Comparison { config, filter, python })
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
    Error::usage(what).remedy(
        "the commands are setup, bench, test, compare-torchao and doctor: cargo xtask --help",
    )
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
            (
                "compare-torchao my.yml --filter int8wo --python /opt/python",
                Command::CompareTorchao(Comparison {
                    config: "my.yml".into(),
                    filter: Some("int8wo".into()),
                    python: Some("/opt/python".into()),
                }),
            ),
            (
                "compare-torchao my.yml",
                Command::CompareTorchao(Comparison {
                    config: "my.yml".into(),
                    filter: None,
                    python: None,
                }),
            ),
            ("compare-torchao --help", Command::Help(help::COMPARE_TORCHAO)),
            ("help compare-torchao", Command::Help(help::COMPARE_TORCHAO)),
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
            ("compare-torchao", "compare-torchao needs a config"),
            ("compare-torchao a.yml b.yml", "compare-torchao takes one config"),
            ("compare-torchao --filter", "compare-torchao: --filter needs a value"),
            ("compare-torchao --json x", "compare-torchao does not know \"--json\""),
            ("doctor --fix", "doctor does not know \"--fix\""),
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!((error.what(), error.exit_code()), (what, 2));
        }
    }
}
