//! The command line of `compare-branches`.

use std::ffi::OsString;

use clap::{ArgAction, Args};

use crate::bench_arguments::{BenchArguments, runs};
use crate::error::{Error, Result};

#[derive(Debug, PartialEq, Eq, Args)]
pub struct Options {
    /// Branch, tag or commit to compare with; nothing is fetched
    #[arg(required_unless_present = "clean")]
    a: Option<String>,
    /// The one that may be slower; a dot is this checkout
    #[arg(required_unless_present = "clean")]
    b: Option<String>,
    /// Runs of each; fewer than 7 cannot be significant among 50 cases
    #[arg(long, alias = "launches", value_name = "N", default_value_t = RUNS, value_parser = runs)]
    pub runs: u64,
    /// Only this bench target; may be repeated
    #[arg(long, value_name = "TARGET")]
    bench: Vec<OsString>,
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
    /// Remove the worktrees of earlier comparisons, and compare nothing
    #[arg(long, exclusive = true)]
    clean: bool,
    /// A filter, and criterion's options
    #[arg(last = true, value_name = "CRITERION")]
    criterion: Vec<OsString>,
}

/// The least p of the exact Mann–Whitney test is 2/C(2n, n). For 8 runs of each it is 1.6e-4, which
/// Holm's correction still calls significant at 0.05 among 321 cases; for 6 it would be among 23.
const RUNS: u64 = 8;
const COMMAND: &str = "compare-branches";

impl Options {
    /// The revisions, as git knows them; none if worktrees are to be removed.
    pub fn revisions(&self) -> Option<[&str; 2]> {
        Some([self.a.as_deref()?, self.b.as_deref()?])
    }

    /// The arguments of each run.
    pub fn arguments(&self) -> Result<BenchArguments> {
        let bench = |target: &OsString| [OsString::from("--bench"), target.clone()];
        let cargo: Vec<OsString> = self.bench.iter().flat_map(bench).collect();
        match BenchArguments::parse(&cargo, &self.criterion, COMMAND)? {
            (arguments, None) => Ok(arguments),
            (_, Some(name)) => Err(Error::usage(format!(
                "--save-baseline {name}: {COMMAND} names what it keeps after the revisions"
            ))
            .remedy(format!("its options: cargo xtask {COMMAND} --help"))),
        }
    }

    /// The arguments of `criterion-report` that compare the two names.
    pub fn report(&self, [a, b]: &[String; 2]) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["compare".into(), a.into(), b.into()];
        if !self.fail_on.is_empty() {
            arguments.extend(["--fail-on".into(), self.fail_on.join(",").into()]);
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
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        for (line, revisions, runs, fail_on, cargo, criterion) in [
            ("main .", ["main", "."], 8, "", "", ""),
            (
                "--launches=3 main --fail-on regression,missing HEAD~1 --bench x --bench=y",
                ["main", "HEAD~1"],
                3,
                " --fail-on regression,missing",
                "--bench x --bench y",
                "",
            ),
            (
                "a --runs 12 b -- int8wo --sample-size 20 --runs 1",
                ["a", "b"],
                12,
                "",
                "",
                "int8wo --sample-size 20 --runs 1",
            ),
            ("a b -- -- -s", ["a", "b"], 8, "", "", "-- -s"),
            (
                "a b --fail-on missing --runs 3 --fail-on accuracy --runs 4",
                ["a", "b"],
                4,
                " --fail-on accuracy",
                "",
                "",
            ),
        ] {
            let options = parsed(line).expect(line);
            let arguments = BenchArguments { cargo: words(cargo), criterion: words(criterion) };
            assert_eq!(options.revisions(), Some(revisions), "{line}");
            assert_eq!(options.runs, runs, "{line}");
            assert_eq!(options.arguments(), Ok(arguments), "{line}");
            let report = options.report(&["a".to_owned(), "b".to_owned()]);
            assert_eq!(report, words(&format!("compare a b{fail_on}")), "{line}");
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
            ("main pr --lunches 3", "unexpected argument '--lunches'"),
            ("main pr --runs", "a value is required for '--runs <N>'"),
            ("main pr --runs 0", "invalid value '0' for '--runs <N>'"),
            ("main pr --bench", "a value is required for '--bench <TARGET>'"),
            ("main pr --fail-on slower", "regression, accuracy, missing, inconclusive]"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.to_string().contains(what), "{line}: {error}");
            assert_eq!(error.exit_code(), 2);
        }
        for (line, what) in [
            (
                "main pr -- -s x",
                "--save-baseline x: compare-branches names what it keeps after the revisions",
            ),
            (
                "main pr -- --list",
                "--list measures nothing, and compare-branches measures and keeps several runs",
            ),
        ] {
            let error = parsed(line).expect("its words are known").arguments().expect_err(line);
            assert_eq!((error.what(), error.exit_code()), (what, 2));
            assert!(!error.remedies().is_empty(), "{line}");
        }
    }
}
