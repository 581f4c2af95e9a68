//! The command line of `compare-branches`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgAction, Args};

use crate::error::{Error, Result};
use crate::lockstep::Selection;
use plan::flag;

#[derive(Debug, PartialEq, Args)]
pub struct Options {
    /// Branch, tag or commit to compare with; nothing is fetched
    #[arg(required_unless_present = "clean")]
    a: Option<String>,
    /// The one that may be slower; a dot is this checkout
    #[arg(required_unless_present = "clean")]
    b: Option<String>,
    #[command(flatten)]
    pub selection: Selection,
    /// Time to measure in, e.g. `90s`; cases that are decided early leave theirs to the others
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = duration)]
    pub budget: Duration,
    /// Least relative change of a time that matters
    #[arg(long, value_name = "SHARE", default_value_t = THRESHOLD, value_parser = share)]
    pub latency_threshold: f64,
    /// Exit with 1 when there is any of these
    // The report's gates stand here so that a typo is found before everything is measured.
    #[arg(
        long,
        value_name = "GATES",
        value_delimiter = ',',
        action = ArgAction::Set,
        value_parser = ["regression", "accuracy", "missing", "inconclusive"]
    )]
    fail_on: Vec<String>,
    /// Table for people, Markdown for a pull request, all as JSON, or a page
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = ["table", "markdown", "json", "html"])]
    format: String,
    /// Measure programs that are the same on both sides, too: all differences are noise then
    #[arg(long)]
    pub same: bool,
    /// Remove the worktrees of earlier comparisons, and compare nothing
    #[arg(long, exclusive = true)]
    clean: bool,
    /// A regular expression on the ids of benchmarks
    #[arg(last = true, value_name = "FILTER")]
    filter: Vec<OsString>,
}

/// Criterion's own.
const THRESHOLD: f64 = 0.01;
const COMMAND: &str = "compare-branches";

fn duration(text: &str) -> std::result::Result<Duration, String> {
    flag::duration(text).map(Duration::from_secs_f64)
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(share @ 1e-4..=1.0) => Ok(share),
        _ => Err("it is a share of A's time from 0.0001 to 1, e.g. 0.01".to_owned()),
    }
}

impl Options {
    /// The revisions, as git knows them; none if worktrees are to be removed.
    pub fn revisions(&self) -> Option<[&str; 2]> {
        Some([self.a.as_deref()?, self.b.as_deref()?])
    }

    /// The filter on ids.
    pub fn filter(&self) -> Result<Option<String>> {
        match &self.filter[..] {
            [] => Ok(None),
            [filter] if filter.to_str().is_some_and(|it| !it.starts_with('-')) => {
                Ok(filter.to_str().map(str::to_owned))
            }
            words => {
                let words: Vec<_> = words.iter().map(|it| it.to_string_lossy()).collect();
                Err(Error::usage(format!("-- {}: it is not one filter", words.join(" ")))
                    .remedy(format!("{COMMAND} decides how criterion samples; give one filter")))
            }
        }
    }

    /// The arguments of `criterion-report` that compare the two names.
    pub fn report(&self, [a, b]: &[String; 2]) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["compare".into(), a.into(), b.into()];
        arguments.extend(["--latency-threshold".into(), self.latency_threshold.to_string().into()]);
        if !self.fail_on.is_empty() {
            arguments.extend(["--fail-on".into(), self.fail_on.join(",").into()]);
        }
        if self.format != "table" {
            arguments.extend(["--format".into(), self.format.clone().into()]);
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{self, Command};

    fn parsed(line: &str) -> std::result::Result<Options, clap::Error> {
        match cli::tests::parsed(&format!("compare-branches {line}"))? {
            Command::CompareBranches(options) => Ok(options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_option_is_understood() {
        for (line, budget_s, filter, report) in [
            ("main .", 300.0, None, "compare a b --latency-threshold 0.01"),
            (
                "--budget 90s main --fail-on regression,missing HEAD~1 --bench x -p y -- ^x/",
                90.0,
                Some("^x/"),
                "compare a b --latency-threshold 0.01 --fail-on regression,missing",
            ),
            (
                "a b --latency-threshold 0.05 --format markdown --fail-on missing --fail-on accuracy",
                300.0,
                None,
                "compare a b --latency-threshold 0.05 --fail-on accuracy --format markdown",
            ),
        ] {
            let options = parsed(line).expect(line);
            assert_eq!(options.budget, Duration::from_secs_f64(budget_s), "{line}");
            assert_eq!(options.filter(), Ok(filter.map(str::to_owned)), "{line}");
            let words: Vec<OsString> = report.split(' ').map(Into::into).collect();
            assert_eq!(options.report(&["a".to_owned(), "b".to_owned()]), words, "{line}");
        }
        assert_eq!(parsed("--clean").expect("fine").revisions(), None);
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for (line, what) in [
            ("", "  <A>\n  <B>\n"),
            ("main", "  <B>\n"),
            ("main pr int8wo", "unexpected argument 'int8wo'"),
            ("main pr --clean", "'--clean' cannot be used with"),
            ("main pr --runs 8", "unexpected argument '--runs'"),
            ("main pr --budget soon", "invalid value 'soon' for '--budget <TIME>'"),
            ("main pr --latency-threshold 2", "it is a share of A's time"),
            ("main pr --bench", "a value is required for '--bench <TARGET>'"),
            ("main pr --fail-on slower", "regression, accuracy, missing, inconclusive]"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.to_string().contains(what), "{line}: {error}");
            assert_eq!(error.exit_code(), 2);
        }
        for line in ["main pr -- --sample-size 3", "main pr -- a b"] {
            let error = parsed(line).expect("its words are known").filter().expect_err(line);
            assert_eq!(error.exit_code(), 2);
            assert!(error.what().contains("it is not one filter"), "{error}");
        }
    }
}
