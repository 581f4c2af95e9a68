//! The command line of `compare-branches`.

use std::ffi::{OsStr, OsString};

use crate::bench_arguments::BenchArguments;
use crate::error::{Error, Result};
use crate::repeat;

#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    Compare(Options),
    /// Remove the worktrees of earlier comparisons.
    Clean,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The revisions, as git knows them; `.` is the current checkout.
    pub revisions: [String; 2],
    /// Launches of each revision.
    pub launches: u64,
    /// What ends with exit code 1, as the report understands it.
    pub fail_on: Option<OsString>,
    pub arguments: BenchArguments,
}

/// The least p of the exact Mann–Whitney test is 2/C(2n, n). For 8 launches of each it is 1.6e-4, which
/// Holm's correction still calls significant at 0.05 among 321 cases; for 6 it would be among 23.
const LAUNCHES: u64 = 8;
const COMMAND: &str = "compare-branches";

impl Request {
    pub fn parse(arguments: &[OsString]) -> Result<Self> {
        if matches!(arguments, [only] if only == "--clean") {
            return Ok(Self::Clean);
        }
        Options::parse(arguments).map(Self::Compare)
    }
}

impl Options {
    fn parse(arguments: &[OsString]) -> Result<Self> {
        let (mut revisions, mut bench) = (Vec::new(), Vec::new());
        let (mut launches, mut fail_on) = (LAUNCHES, None);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = text(word)?;
            let (name, given) = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(OsStr::new(value))),
                _ => (text, None),
            };
            let mut value = || given.or_else(|| words.next().map(OsString::as_os_str));
            match name {
                "--" => {
                    bench.push(word.clone());
                    bench.extend(words.cloned());
                    break;
                }
                "--launches" => launches = repeat::count(name, value())?,
                "--fail-on" => fail_on = Some(gates(needed(name, value())?)?),
                "--bench" => bench.extend([name.into(), needed(name, value())?.to_owned()]),
                "--clean" => {
                    return Err(usage("--clean removes the worktrees, and stands alone"));
                }
                flag if flag.starts_with('-') => {
                    return Err(usage(&format!("{COMMAND} does not know \"{flag}\""))
                        .remedy("what is criterion's stands behind `--`"));
                }
                _ => revisions.push(text.to_owned()),
            }
        }
        let revisions = <[String; 2]>::try_from(revisions).map_err(|other| {
            let what = format!("{COMMAND} takes two revisions, not {}", other.len());
            usage(&what).remedy("a filter stands behind `--`; `.` is the checkout as it lies here")
        })?;
        let (arguments, name) = BenchArguments::parse(&bench, COMMAND)?;
        match name {
            None => Ok(Self { revisions, launches, fail_on, arguments }),
            Some(name) => Err(usage(&format!(
                "--save-baseline {name}: {COMMAND} names what it keeps after the revisions"
            ))),
        }
    }
}

/// The gates that the report knows. They stand here so that a typo is found before everything is
/// measured.
const GATES: [&str; 4] = ["regression", "accuracy", "missing", "inconclusive"];

fn gates(value: &OsStr) -> Result<OsString> {
    match value.to_string_lossy().split(',').find(|word| !GATES.contains(&word.trim())) {
        None => Ok(value.to_owned()),
        Some(word) => Err(usage(&format!("--fail-on takes {}, not \"{word}\"", GATES.join(", ")))),
    }
}

fn needed<'w>(option: &str, value: Option<&'w OsStr>) -> Result<&'w OsStr> {
    value.ok_or_else(|| usage(&format!("{option} needs a value")))
}

fn text(word: &OsStr) -> Result<&str> {
    word.to_str().ok_or_else(|| usage(&format!("\"{}\" is no text", word.display())))
}

fn usage(what: &str) -> Error {
    Error::usage(what).remedy(format!("what it takes: cargo xtask {COMMAND} --help"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request> {
        Request::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_option_is_understood() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let compare = |a: &str, b: &str, launches, fail_on: Option<&str>, cargo, criterion| {
            Ok(Request::Compare(Options {
                revisions: [a.to_owned(), b.to_owned()],
                launches,
                fail_on: fail_on.map(OsString::from),
                arguments: BenchArguments { cargo: words(cargo), criterion: words(criterion) },
            }))
        };
        assert_eq!(parsed("--clean"), Ok(Request::Clean));
        assert_eq!(parsed("main ."), compare("main", ".", 8, None, "", ""));
        assert_eq!(
            parsed("--launches=3 main --fail-on regression,missing HEAD~1 --bench x --bench=y"),
            compare("main", "HEAD~1", 3, Some("regression,missing"), "--bench x --bench y", "")
        );
        assert_eq!(
            parsed("a --launches 12 b -- int8wo --sample-size 20 --launches 1"),
            compare("a", "b", 12, None, "", "int8wo --sample-size 20 --launches 1")
        );
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for (line, what) in [
            ("", "compare-branches takes two revisions, not 0"),
            ("main", "compare-branches takes two revisions, not 1"),
            ("main pr int8wo", "compare-branches takes two revisions, not 3"),
            ("main pr --clean", "--clean removes the worktrees, and stands alone"),
            ("main pr --lunches 3", "compare-branches does not know \"--lunches\""),
            ("main pr --launches", "--launches needs a value"),
            ("main pr --launches 0", "--launches is a number of launches, 1 or more, not \"0\""),
            ("main pr --bench", "--bench needs a value"),
            (
                "main pr --fail-on slower",
                "--fail-on takes regression, accuracy, missing, inconclusive, not \"slower\"",
            ),
            (
                "main pr -- -s x",
                "--save-baseline x: compare-branches names what it keeps after the revisions",
            ),
            (
                "main pr -- --list",
                "--list measures nothing, and compare-branches measures and keeps several launches",
            ),
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!((error.what(), error.exit_code()), (what, 2));
            assert!(!error.remedies().is_empty(), "{line}");
        }
    }
}
