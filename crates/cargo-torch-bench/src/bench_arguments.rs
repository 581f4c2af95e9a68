//! The arguments of a `cargo bench` that is run several times, each time to be kept under
//! another name.

use std::ffi::{OsStr, OsString};
use std::slice;

use crate::error::{Error, Result};
use plan::flag::{self, Results, Word};

/// The arguments that are the same in every run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct BenchArguments {
    /// Cargo's: which benchmarks are built.
    pub cargo: Vec<OsString>,
    /// Criterion's: which cases are measured, and how.
    pub criterion: Vec<OsString>,
}

/// Our option, by which there are several runs.
const REPEAT: &str = "--repeat";
/// The option of cargo's with which nothing is measured.
const NO_RUN: &str = "--no-run";

impl BenchArguments {
    /// Takes out the name that criterion's arguments give to `--save-baseline`, if any.
    pub fn parse(cargo: &[OsString], criterion: &[OsString]) -> Result<(Self, Option<String>)> {
        separate_words(cargo).try_for_each(|word| suitable(&word))?;
        let mut kept = Self { cargo: cargo.to_vec(), criterion: Vec::new() };
        let mut name = None;
        for word in flag::words(criterion) {
            suitable(&word)?;
            if !word.is("save-baseline") {
                kept.criterion.extend_from_slice(word.words);
                continue;
            }
            let written = word.written;
            let value = match (word.joined, word.words) {
                (Some(value), _) => value.to_owned(),
                (None, [_, value]) => text(value)?,
                (None, _) => {
                    return Err(Error::usage(format!("{written} needs a value"))
                        .remedy(format!("give it a name: {written} main")));
                }
            };
            check_name(&value)?;
            if let Some(before) = name.replace(value.clone()) {
                return Err(Error::usage(format!("two names, \"{before}\" and \"{value}\""))
                    .remedy("give --save-baseline once"));
            }
        }
        Ok((kept, name))
    }

    /// Arguments of `cargo` for one run.
    pub fn run(&self, kept_as: &str) -> Vec<OsString> {
        self.with_options(&["--save-baseline", kept_as])
    }

    /// Arguments of `cargo` that list the cases which a run measures.
    pub fn list(&self) -> Vec<OsString> {
        self.with_options(&["--list"])
    }

    /// Criterion's options come first: behind a `--` of the user's there are none.
    fn with_options(&self, options: &[&str]) -> Vec<OsString> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        [
            words(&["bench"]),
            self.cargo.clone(),
            words(&["--"]),
            words(options),
            self.criterion.clone(),
        ]
        .concat()
    }
}

/// Cargo's words, and criterion's behind `--`.
pub fn split(arguments: &[OsString]) -> (&[OsString], &[OsString]) {
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    (&arguments[..end], arguments.get(end + 1..).unwrap_or_default())
}

/// Reads how many runs there are to be.
pub fn runs(text: &str) -> std::result::Result<u64, &'static str> {
    match text.parse() {
        Ok(runs @ 1..) => Ok(runs),
        _ => Err("it is a number of runs, 1 or more; 8 will often do"),
    }
}

/// Refuses a word with which no runs can be measured and kept.
fn suitable(word: &Word<'_, OsString>) -> Result<()> {
    let why = match word.results() {
        _ if word.written == NO_RUN => "measures nothing",
        Results::None => "measures nothing",
        Results::Dropped => "keeps nothing",
        Results::Unnamed => "keeps nothing under a name",
        Results::Kept => return Ok(()),
    };
    let flag = word.written;
    Err(Error::usage(format!("{flag} {why}, and {REPEAT} measures and keeps several runs"))
        .remedy(format!("leave out one of {REPEAT} and {flag}")))
}

/// Whether a `cargo bench` with these arguments leaves new results.
pub fn leaves_results(arguments: &[OsString]) -> bool {
    let none = |results| matches!(results, Results::None | Results::Dropped);
    !separate_words(arguments).any(|word| word.written == NO_RUN || none(word.results()))
}

/// Each word by itself: cargo's options have values of their own.
fn separate_words(words: &[OsString]) -> impl Iterator<Item = Word<'_, OsString>> {
    words.iter().flat_map(|word| flag::words(slice::from_ref(word)))
}

/// Folders are called after it, and removed when it is measured again.
fn check_name(name: &str) -> Result<()> {
    const NUMBERED: &str = "`@` stands before the number of a run; use letters, digits, `-`, `_`";
    let numbered = name.contains('@').then(|| NUMBERED.to_owned());
    let Some(why) = flag::saved_name(name).err().or(numbered) else { return Ok(()) };
    let (wrong, remedy) = why.split_once("; ").unwrap_or((&why, "use another name"));
    let wrong = format!("--save-baseline \"{}\": {wrong}", name.escape_debug());
    Err(Error::usage(wrong).remedy(remedy))
}

fn text(word: &OsStr) -> Result<String> {
    word.to_str().map(str::to_owned).ok_or_else(|| {
        Error::usage(format!("--save-baseline \"{}\": it is not UTF-8", word.display()))
            .remedy("use letters, digits, `-`, `_`")
    })
}

/// The seconds of a total budget among criterion's words; the bench targets share it.
pub fn budget_s(criterion: &[OsString]) -> Result<Option<f64>> {
    let seconds = |value| {
        flag::duration(value)
            .map_err(|why| Error::usage(format!("--budget {value}: it is no time")).remedy(why))
    };
    flag::value(criterion, "budget").map(seconds).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(BenchArguments, Option<String>)> {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let (cargo, criterion) = line.split_once("-- ").unwrap_or((line, ""));
        BenchArguments::parse(&words(cargo), &words(criterion))
    }

    #[test]
    fn the_name_is_taken_out_however_criterion_lets_it_be_given() {
        for (line, name, run) in [
            ("", None, "bench -- --save-baseline N@1"),
            ("--bench x", None, "bench --bench x -- --save-baseline N@1"),
            ("-- f --save-baseline main", Some("main"), "bench -- --save-baseline N@1 f"),
            ("-- --save-baseline=main f", Some("main"), "bench -- --save-baseline N@1 f"),
            ("-- -s main", Some("main"), "bench -- --save-baseline N@1"),
            ("-- -smain", Some("main"), "bench -- --save-baseline N@1"),
            ("-- -s=main", Some("main"), "bench -- --save-baseline N@1"),
            (
                "--bench x -- --sample-size 10 a=b",
                None,
                "bench --bench x -- --save-baseline N@1 --sample-size 10 a=b",
            ),
            ("-- -- -s", None, "bench -- --save-baseline N@1 -- -s"),
        ] {
            let (arguments, found) = parsed(line).expect(line);
            assert_eq!(found.as_deref(), name, "{line}");
            assert_eq!(arguments.run("N@1").join(OsStr::new(" ")), run, "{line}");
            let list = run.replace("--save-baseline N@1", "--list");
            assert_eq!(arguments.list().join(OsStr::new(" ")), list.as_str(), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_kept_in_runs_is_refused_with_both_names() {
        for (line, option) in [
            ("--no-run", "--no-run"),
            ("-- --list", "--list"),
            ("-- --test", "--test"),
            ("-- --profile-time 5", "--profile-time"),
            ("-- --profile-time=5", "--profile-time"),
            ("-- --baseline main", "--baseline"),
            ("-- --baseline=main", "--baseline"),
            ("-- -b main", "-b"),
            ("-- -bmain", "-b"),
            ("-- --baseline-lenient main", "--baseline-lenient"),
            ("-- --load-baseline main --baseline pr", "--load-baseline"),
            ("-- --discard-baseline", "--discard-baseline"),
            ("-- -h", "-h"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.what().starts_with(&format!("{option} ")), "{error}");
            assert!(error.what().contains("--repeat"), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn names_are_names() {
        for (line, what) in [
            ("-- -s", "-s needs a value"),
            ("-- --save-baseline", "--save-baseline needs a value"),
            ("-- --save-baseline=", "--save-baseline \"\": it becomes the name of a folder"),
            ("-- -s ../x", "--save-baseline \"../x\": it becomes the name of a folder"),
            ("-- -s a/b", "--save-baseline \"a/b\": it becomes the name of a folder"),
            ("-- -s main@2", "--save-baseline \"main@2\": `@` stands before the number of a run"),
            ("-- -s new", "--save-baseline \"new\": `new` is reserved"),
            ("-- -s a -s b", "two names, \"a\" and \"b\""),
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!((error.what(), error.exit_code()), (what, 2));
            assert!(!error.remedies().is_empty(), "{line}");
        }
    }

    #[test]
    fn a_report_follows_measurements_alone() {
        for (line, report) in [
            ("", true),
            ("--bench inference -- int8wo", true),
            ("-- --save-baseline main", true),
            ("-- --list", false),
            ("-- --test", false),
            ("--no-run", false),
            ("-- --help", false),
            ("-- --profile-time 5", false),
        ] {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(leaves_results(&arguments), report, "{line}");
        }
    }
}
