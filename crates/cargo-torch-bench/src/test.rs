//! `test`: setup, then `cargo test` with the tests of a tier.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::cargo;
use crate::error::{Error, Result};
use crate::setup;
use crate::skips::Skips;
use crate::workspace::Workspace;
use ::libtorch::command;

/// Which tests are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    /// Those that are not ignored.
    Usual,
    /// The long ones, too.
    All,
    /// The exhaustive ones alone. They are all in libraries, and too slow without optimization.
    Exhaustive,
}

/// Stands in the name of every test that takes minutes to an hour, and of no other: libtest selects by names.
const EXHAUSTIVE: &str = "exhaustive";

impl Tests {
    /// The words of cargo. `arguments` are the user's, for cargo and after `--` for the tests.
    fn words(self, arguments: &[OsString]) -> Vec<OsString> {
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let (of_cargo, of_tests) = arguments.split_at(end);
        let names_tests = of_cargo.iter().any(|word| !word.to_string_lossy().starts_with('-'));
        let (cargo, tests): (&[&str], &[&str]) = match self {
            Self::Usual => (&["test", "--workspace"], &[]),
            Self::All => (&["test", "--workspace"], &["--include-ignored", "--skip", EXHAUSTIVE]),
            Self::Exhaustive => (&["test", "--release", "--workspace", "--lib"], &["--ignored"]),
        };
        let name = (self == Self::Exhaustive && !names_tests).then_some(EXHAUSTIVE);
        let words = cargo.iter().copied().chain(name).map(OsString::from);
        let separated = tests.iter().map(OsString::from).chain(of_tests.iter().skip(1).cloned());
        words.chain(of_cargo.iter().cloned()).chain(["--".into()]).chain(separated).collect()
    }
}

/// `cargo xtask test`, which says at the end what it did not run.
pub fn command(workspace: &Workspace, tests: Tests, arguments: &[OsString]) -> Result<ExitCode> {
    setup::before(workspace)?;
    let skips = Skips::below(&cargo::target(workspace.root())?)?;
    let mut cargo = cargo::in_folder(workspace.root());
    cargo.args(tests.words(arguments));
    let program = cargo.get_program().to_owned();
    let (status, ignored) = skips
        .run(cargo)
        .map_err(|error| Error::new(format!("cannot run {}: {error}", program.display())))?;
    eprint!("{}", skips.summary(&ignored)?);
    if tests == Tests::Usual && !ignored.is_empty() {
        let all = command::ours("test --all");
        eprintln!("`{all}` runs the long ones, `--exhaustive` the exhaustive ones");
    }
    Ok(cargo::exit_code(status))
}
