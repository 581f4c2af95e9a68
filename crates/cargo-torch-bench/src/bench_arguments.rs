//! The arguments of a `cargo bench` that is launched several times, each time to be kept under
//! another name.

use std::ffi::{OsStr, OsString};

use crate::error::{Error, Result};

/// What is the same in every launch.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct BenchArguments {
    /// Cargo's: which benchmarks are built.
    pub cargo: Vec<OsString>,
    /// Criterion's: which cases are measured, and how.
    pub criterion: Vec<OsString>,
}

/// Options with which nothing is measured, or nothing is kept under a name.
const UNSUITABLE: [(&str, &str); 11] = [
    ("--list", "measures nothing"),
    ("--test", "measures nothing"),
    ("--no-run", "measures nothing"),
    ("--help", "measures nothing"),
    ("-h", "measures nothing"),
    ("--profile-time", "keeps nothing"),
    ("--discard-baseline", "keeps nothing"),
    ("--load-baseline", "measures nothing"),
    ("--baseline", "keeps nothing under a name"),
    ("--baseline-lenient", "keeps nothing under a name"),
    ("-b", "keeps nothing under a name"),
];

impl BenchArguments {
    /// Takes out the name that criterion's arguments give to `--save-baseline`, if any. `with` is
    /// what launches several times, for messages.
    pub fn parse(
        cargo: &[OsString],
        criterion: &[OsString],
        with: &str,
    ) -> Result<(Self, Option<String>)> {
        for word in cargo {
            suitable(&Flag::of(word), with)?;
        }
        let mut kept = Self { cargo: cargo.to_vec(), criterion: Vec::new() };
        let mut name = None;
        let mut words = criterion.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                // The rest is the filter, whatever it looks like.
                kept.criterion.push(word.clone());
                kept.criterion.extend(words.cloned());
                break;
            }
            let flag = Flag::of_criterion(word);
            suitable(&flag, with)?;
            if !matches!(flag.name.as_str(), "--save-baseline" | "-s") {
                kept.criterion.push(word.clone());
                continue;
            }
            let value = match flag.value {
                Some(value) => value,
                None => text(words.next().ok_or_else(|| {
                    Error::usage(format!("{} needs a value", flag.name))
                        .remedy(format!("give it a name: {} main", flag.name))
                })?)?,
            };
            check_name(&value)?;
            if let Some(before) = name.replace(value.clone()) {
                return Err(Error::usage(format!("two names, \"{before}\" and \"{value}\""))
                    .remedy("give --save-baseline once"));
            }
        }
        Ok((kept, name))
    }

    /// Arguments of `cargo` for one launch.
    pub fn launch(&self, kept_as: &str) -> Vec<OsString> {
        self.with(&["--save-baseline", kept_as])
    }

    /// Arguments of `cargo` that list the cases which a launch measures.
    pub fn list(&self) -> Vec<OsString> {
        self.with(&["--list"])
    }

    /// Criterion's options come first: behind a `--` of the user's there are none.
    fn with(&self, options: &[&str]) -> Vec<OsString> {
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

/// Reads how many launches there are to be.
pub fn launches(text: &str) -> std::result::Result<u64, &'static str> {
    match text.parse() {
        Ok(launches @ 1..) => Ok(launches),
        _ => Err("it is a number of launches, 1 or more; 8 will often do"),
    }
}

/// An option without what belongs to it.
struct Flag {
    name: String,
    value: Option<String>,
}

impl Flag {
    /// `--name=value` is split; anything else is a name alone.
    fn of(word: &OsStr) -> Self {
        let word = word.to_string_lossy().into_owned();
        match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => {
                Self { name: name.to_owned(), value: Some(value.to_owned()) }
            }
            _ => Self { name: word, value: None },
        }
    }

    /// Criterion also takes `-sNAME` and `-s=NAME`, and so for `-b`.
    fn of_criterion(word: &OsStr) -> Self {
        let text = word.to_string_lossy();
        let short = ["-s", "-b"].into_iter().find(|short| text.starts_with(short));
        let Some(short) = short else { return Self::of(word) };
        let value = &text[short.len()..];
        let value = value.strip_prefix('=').unwrap_or(value);
        let value = (!value.is_empty()).then(|| value.to_owned());
        Self { name: short.to_owned(), value }
    }
}

fn suitable(flag: &Flag, with: &str) -> Result<()> {
    match UNSUITABLE.iter().find(|(name, _)| *name == flag.name) {
        None => Ok(()),
        Some((name, why)) => Err(Error::usage(format!(
            "{name} {why}, and {with} measures and keeps several launches"
        ))
        .remedy(format!("leave out one of {with} and {name}"))),
    }
}

/// Folders are called after it, and removed when it is measured again.
fn check_name(name: &str) -> Result<()> {
    let wrong = if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
        "it names a folder"
    } else if name.contains('@') {
        "`@` stands before the number of a launch"
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("--save-baseline \"{name}\": {wrong}"))
        .remedy("use letters, digits, `-`, `_`"))
}

fn text(word: &OsStr) -> Result<String> {
    word.to_str().map(str::to_owned).ok_or_else(|| {
        Error::usage(format!("--save-baseline \"{}\": it is no text", word.display()))
            .remedy("use letters, digits, `-`, `_`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(BenchArguments, Option<String>)> {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let (cargo, criterion) = line.split_once("-- ").unwrap_or((line, ""));
        BenchArguments::parse(&words(cargo), &words(criterion), "--repeat")
    }

    #[test]
    fn the_name_is_taken_out_however_criterion_lets_it_be_given() {
        for (line, name, launch) in [
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
            assert_eq!(arguments.launch("N@1").join(OsStr::new(" ")), launch, "{line}");
            let list = launch.replace("--save-baseline N@1", "--list");
            assert_eq!(arguments.list().join(OsStr::new(" ")), list.as_str(), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_kept_in_launches_is_refused_with_both_names() {
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
            ("-- --save-baseline=", "--save-baseline \"\": it names a folder"),
            ("-- -s ../x", "--save-baseline \"../x\": it names a folder"),
            ("-- -s a/b", "--save-baseline \"a/b\": it names a folder"),
            (
                "-- -s main@2",
                "--save-baseline \"main@2\": `@` stands before the number of a launch",
            ),
            ("-- -s a -s b", "two names, \"a\" and \"b\""),
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!((error.what(), error.exit_code()), (what, 2));
            assert!(!error.remedies().is_empty(), "{line}");
        }
    }
}
