//! The command line of `kernels`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::absolute;
use super::configs::Overrides;
use crate::error::{Error, Result};

/// The options that were given. If one is given twice the last one counts, so that an alias can be
/// overridden.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub overrides: Overrides,
    /// The folder of the report.
    pub output_dir: PathBuf,
    /// Under which name the results are kept.
    pub save_baseline: Option<OsString>,
    /// A name, or a folder with an earlier report.
    pub compare_to: Option<OsString>,
    /// A folder of summaries.
    pub history: Option<PathBuf>,
    /// What ends with exit code 1, as the report understands it.
    pub fail_on: Option<OsString>,
    /// Say which kernels were found.
    pub verbose: bool,
    /// A regular expression on the ids.
    pub filter: Option<OsString>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            overrides: Overrides::default(),
            output_dir: "reports".into(),
            save_baseline: None,
            compare_to: None,
            history: None,
            fail_on: None,
            verbose: false,
            filter: None,
        }
    }
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Self> {
        let mut options = Self::default();
        let mut filter = None;
        while let Some(word) = arguments.next() {
            let given = Given::of(word);
            let name = given.name.to_string_lossy().into_owned();
            let mut value = || match &given.value {
                Some(value) => Ok(value.clone()),
                None => arguments.next().ok_or_else(|| usage(&format!("{name} needs a value"))),
            };
            match name.as_str() {
                "--iters" => options.overrides.timed = Some(number(&name, &value()?)?),
                "--warmup" => options.overrides.warmup = Some(number(&name, &value()?)?),
                "--seed" => options.overrides.seed = Some(number(&name, &value()?)?),
                "--precision" => options.overrides.precisions = words(&name, &value()?)?,
                "--backends" => options.overrides.backends = words(&name, &value()?)?,
                "--output-dir" => options.output_dir = value()?.into(),
                "--save-baseline" => options.save_baseline = Some(value()?),
                "--compare-to" => options.compare_to = Some(value()?),
                "--history" => options.history = Some(value()?.into()),
                "--fail-on" => options.fail_on = Some(gates(&value()?)?),
                "--verbose" | "-v" if given.value.is_none() => options.verbose = true,
                flag if flag.starts_with('-') => {
                    return Err(usage(&format!("kernels does not know \"{name}\"")));
                }
                _ => {
                    if let Some(before) = filter.replace(given.name) {
                        let (one, two) = (before.display(), name);
                        return Err(usage(&format!("two filters, \"{one}\" and \"{two}\""))
                            .remedy(format!("one regular expression does: '({one}|{two})'")));
                    }
                }
            }
        }
        options.filter = filter;
        options.checked()
    }

    fn checked(self) -> Result<Self> {
        if self.compare_to.is_some() && self.compare_to == self.save_baseline {
            let name = self.save_baseline.as_deref().unwrap_or_default().display();
            return Err(usage(&format!(
                "this run would replace \"{name}\", with which it is to be compared"
            ))
            .remedy("give --save-baseline and --compare-to different names"));
        }
        let gates = self.fail_on.as_deref().unwrap_or_default().to_string_lossy();
        let compares =
            gates.split(',').map(str::trim).find(|gate| !gate.is_empty() && *gate != ALONE);
        if let (Some(gate), None) = (compares, &self.compare_to) {
            return Err(usage(&format!("--fail-on {gate} compares with something"))
                .remedy("name it with --compare-to"));
        }
        Ok(self)
    }

    /// Checks that the results to compare with are there, as the report comes when everything is
    /// measured.
    pub fn look(&self, here: &Path, records: &Path) -> Result<()> {
        if let Some(with) = &self.compare_to {
            let path = here.join(with);
            if !path.exists() && (is_path(with) || !is_recorded(with, records)) {
                let with = with.display();
                return Err(usage(&format!(
                    "--compare-to {with}: there is neither a file or folder {} nor a baseline of \
                     that name in {}",
                    path.display(),
                    records.display()
                ))
                .remedy(format!("measure it first, with --save-baseline {with}")));
            }
        }
        match self.history.as_ref().map(|folder| here.join(folder)) {
            Some(folder) if !folder.is_dir() => {
                Err(usage(&format!("--history: there is no folder {}", folder.display())))
            }
            _ => Ok(()),
        }
    }

    /// The arguments of `criterion-report kernels`.
    pub fn report(&self, here: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            ["kernels", "--latest", "--output-dir"].map(OsString::from).into();
        arguments.push(absolute(here, &self.output_dir));
        if let Some(with) = &self.compare_to {
            // A bare word may be a name; the report looks for that first.
            let with = if is_path(with) { absolute(here, Path::new(with)) } else { with.clone() };
            arguments.extend(["--compare-to".into(), with]);
        }
        if let Some(history) = &self.history {
            arguments.extend(["--history".into(), absolute(here, history)]);
        }
        if let Some(gates) = &self.fail_on {
            arguments.extend(["--fail-on".into(), gates.clone()]);
        }
        // Else what the run left out is missing in the comparison.
        if let Some(filter) = &self.filter {
            arguments.extend(["--filter".into(), filter.clone()]);
        }
        arguments
    }
}

/// Whether there are records under the name, or under those of its launches, `NAME@1` and so on.
fn is_recorded(name: &OsStr, records: &Path) -> bool {
    let first = [name, OsStr::new("@1")].iter().copied().collect::<OsString>();
    [name, &first].iter().any(|name| records.join(name).is_dir())
}

/// No mere name.
fn is_path(word: &OsStr) -> bool {
    Path::new(word).components().nth(1).is_some()
}

/// An argument: an option, perhaps with its value as in `--iters=30`, or a filter, which may hold any
/// character behind the first.
struct Given {
    name: OsString,
    value: Option<OsString>,
}

impl Given {
    fn of(word: OsString) -> Self {
        let parts =
            word.to_str().filter(|text| text.starts_with("--")).and_then(|t| t.split_once('='));
        match parts {
            Some((name, value)) => Self { name: name.into(), value: Some(value.into()) },
            None => Self { name: word, value: None },
        }
    }
}

fn number(option: &str, value: &OsStr) -> Result<u64> {
    value
        .to_str()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| usage(&format!("{option} is a whole number, not \"{}\"", value.display())))
}

/// Separated by commas. Which words there are, the plan knows.
fn words(option: &str, value: &OsStr) -> Result<Vec<String>> {
    let words: Vec<String> =
        value.to_string_lossy().split(',').map(|word| word.trim().to_owned()).collect();
    if words.iter().any(String::is_empty) {
        return Err(usage(&format!(
            "{option} takes words separated by commas, not \"{}\"",
            value.display()
        )));
    }
    Ok(words)
}

/// The gates that the report knows. They stand here so that a typo is found before everything is
/// measured.
const GATES: [&str; 4] = [ALONE, "regression", "accuracy", "missing"];
/// The one that compares with nothing.
const ALONE: &str = "failure";

fn gates(value: &OsStr) -> Result<OsString> {
    for word in words("--fail-on", value)? {
        if !GATES.contains(&word.as_str()) {
            return Err(usage(&format!("--fail-on takes {}, not \"{word}\"", GATES.join(", "))));
        }
    }
    Ok(value.to_owned())
}

fn usage(what: &str) -> Error {
    Error::usage(what).remedy("what it takes: cargo xtask kernels --help")
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
