//! `bench --repeat N`: the same benchmarks in several launches.

use std::ffi::{OsStr, OsString};
use std::process::{ExitCode, Stdio};

use crate::bench_arguments::BenchArguments;
use crate::cargo;
use crate::error::{Error, Result};
use crate::launches;
use crate::results::{self, HOME};
use crate::setup;
use crate::side::Side;
use crate::workspace::Workspace;

#[derive(Debug, PartialEq, Eq)]
pub struct Repeat {
    pub launches: u64,
    /// Under which name, and their numbers, they are kept.
    pub name: String,
    pub arguments: BenchArguments,
}

/// The baseline that criterion saves if none is named.
const DEFAULT_NAME: &str = "base";
const OPTION: &str = "--repeat";

impl Repeat {
    /// None, if the arguments of `bench` do not ask for it.
    pub fn parse(arguments: &[OsString]) -> Result<Option<Self>> {
        let mut rest = Vec::new();
        let mut launches = None;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = match word.to_str() {
                // Criterion's words.
                Some("--") => {
                    rest.push(word.clone());
                    rest.extend(words.cloned());
                    break;
                }
                Some(OPTION) => words.next().map(OsString::as_os_str),
                Some(word) if word.starts_with("--repeat=") => {
                    word.strip_prefix("--repeat=").map(OsStr::new)
                }
                _ => {
                    rest.push(word.clone());
                    continue;
                }
            };
            launches = Some(count(OPTION, value)?);
        }
        let Some(launches) = launches else { return Ok(None) };
        let (arguments, name) = BenchArguments::parse(&rest, OPTION)?;
        let name = name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
        Ok(Some(Self { launches, name, arguments }))
    }
}

/// How many launches.
pub fn count(option: &str, value: Option<&OsStr>) -> Result<u64> {
    let usage = |what: String| Error::usage(what).remedy(format!("8 will often do: {option} 8"));
    let value = value.ok_or_else(|| usage(format!("{option} needs a value")))?;
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(launches @ 1..) => Ok(launches),
        _ => Err(usage(format!(
            "{option} is a number of launches, 1 or more, not \"{}\"",
            value.display()
        ))),
    }
}

/// Provisions, builds, measures, and says what can be done with it.
pub fn command(workspace: &Workspace, repeat: &Repeat) -> Result<ExitCode> {
    let Repeat { launches, name, arguments } = repeat;
    let root = workspace.root();
    let results = cargo::results(workspace)?;
    let claim = results.claim()?;
    setup::before(workspace)?;
    let environment = vec![(HOME, results.criterion.clone())];
    let folder = root.to_path_buf();
    let side = Side { name: name.clone(), folder, worktree: false, environment };
    let failed = launches::run(&[side], *launches, arguments, &results, &claim, Stdio::inherit)?;
    let (first, last) = (results::kept_as(name, 1), results::kept_as(name, *launches));
    let option = results.option(root);
    eprintln!(
        "kept as {first} to {last}\n  \
         how far they are apart among themselves: cargo criterion-report aa {name}{option}\n  \
         beside launches of another name:         \
         cargo criterion-report compare OTHER {name}{option}"
    );
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Repeat>> {
        Repeat::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_option_is_cargos_side_of_the_dashes() {
        for line in ["", "--bench x", "-- --repeat 3", "x -- --repeat=3 --list"] {
            assert_eq!(parsed(line), Ok(None), "{line}");
        }
        for (line, launches, name, launch) in [
            ("--repeat 8", 8, "base", "bench -- --save-baseline base@1"),
            ("--repeat=8 --bench x", 8, "base", "bench --bench x -- --save-baseline base@1"),
            (
                "--bench x --repeat 3 -- -s pr int8wo --repeat",
                3,
                "pr",
                "bench --bench x -- --save-baseline pr@1 int8wo --repeat",
            ),
            ("--repeat 2 --repeat 1", 1, "base", "bench -- --save-baseline base@1"),
        ] {
            let repeat = parsed(line).expect(line).expect("asked for");
            let first = results::kept_as(&repeat.name, 1);
            let words = repeat.arguments.launch(&first).join(OsStr::new(" "));
            assert_eq!((repeat.launches, repeat.name.as_str()), (launches, name), "{line}");
            assert_eq!(words, launch, "{line}");
        }
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for (line, what) in [
            ("--repeat", "--repeat needs a value"),
            ("--repeat --bench x", "--repeat is a number of launches, 1 or more, not \"--bench\""),
            ("--repeat 0", "--repeat is a number of launches, 1 or more, not \"0\""),
            ("--repeat=", "--repeat is a number of launches, 1 or more, not \"\""),
            (
                "--repeat 3 -- --baseline main",
                "--baseline keeps nothing under a name, and --repeat measures and keeps several \
                 launches",
            ),
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!((error.what(), error.exit_code()), (what, 2));
            assert!(!error.remedies().is_empty(), "{line}");
        }
    }
}
