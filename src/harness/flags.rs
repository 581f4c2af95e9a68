//! The command line of a bench target: [`plan::flag::FLAGS`], and which values they may have.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};
use plan::flag::{self, FLAGS, Flag, Value};
use plan::{AskedShard, cost};
use regex::Regex;

/// The pattern of a flag without a value: it matches everything.
pub const EVERY: &str = "";
/// The word that belongs to no flag.
pub const FILTER: &str = "filter";

/// Reads `arguments`, the program's name first. A flag has the type that its [`Value`] says: text, a
/// number (`f64`), a count (`u64`), a [`Regex`] or an [`AskedShard`]. Help ends the process.
pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<ArgMatches, String> {
    command().try_get_matches_from(arguments).map_err(|error| {
        if error.kind() == ErrorKind::DisplayHelp {
            error.exit();
        }
        let text = error.to_string();
        text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
    })
}

fn command() -> Command {
    const EXAMPLE: &str = "\
Example:
  cargo bench --bench inference -- int8wo --save-baseline main

Read more: docs/book/src/configs/ids.md";
    const FILTER_HELP: &str = "Only cases whose id matches this regular expression";
    Command::new(env!("CARGO_PKG_NAME"))
        .about("Measure the cases of a bench target")
        .long_about(
            "Measure the cases of a bench target: those of its default configs, or of the files that \
             the variable BENCH_CONFIG names. Criterion's options work as in any bench target.",
        )
        .after_long_help(EXAMPLE)
        .override_usage("cargo bench --bench <TARGET> -- [OPTIONS] [FILTER]")
        .max_term_width(100)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(Arg::new(FILTER).value_name("FILTER").help(FILTER_HELP))
        .args(FLAGS.iter().map(arg))
}

fn arg(flag: &'static Flag) -> Arg {
    let arg = Arg::new(flag.name).long(flag.name).short(flag.short).aliases(flag.alias);
    let arg = arg.help(flag.help).hide(flag.help.is_empty()).hide_short_help(!flag.common);
    if flag.name == "help" {
        return arg.action(ArgAction::Help);
    }
    let Some(value) = flag.value else { return arg.action(ArgAction::SetTrue) };
    let shown = match value {
        Value::Seconds | Value::WholeSeconds => "SECONDS",
        Value::Duration => "TIME",
        Value::Samples | Value::Resamples => "N",
        Value::Threshold | Value::Share => "SHARE",
        Value::Name | Value::NewName => "NAME",
        Value::Word(_) => "WORD",
        Value::Pattern => "FILTER",
        Value::Shard => "I/N",
    };
    let arg = match value.may_be_apart() {
        true => arg,
        // A word after it is the filter of the run.
        false => arg.num_args(0..=1).require_equals(true).default_missing_value(EVERY),
    };
    // So that a negative number is a bad value and not an unknown flag.
    let is_number = !matches!(shown, "NAME" | "WORD" | "FILTER");
    arg.value_name(shown).allow_hyphen_values(is_number).value_parser(parser(value))
}

/// Criterion's values, in ranges that it panics beyond.
fn parser(value: Value) -> ValueParser {
    /// A day, and the shortest time that criterion can tell from none.
    const SECONDS: RangeInclusive<f64> = 1e-6..=86_400.0;
    match value {
        Value::Seconds => within(SECONDS, "seconds"),
        Value::WholeSeconds => within(1.0..=*SECONDS.end(), "seconds"),
        Value::Duration => ValueParser::new(flag::duration),
        Value::Samples => within(cost::MIN_SAMPLES..=1_000_000, "a whole number"),
        Value::Resamples => within(1_u64..=10_000_000, "a whole number"),
        Value::Threshold => within(0.0..=1000.0, "a share such as 0.05,"),
        Value::Share => within(0.000_001..=0.999_999, "a share such as 0.95,"),
        Value::Name => named(flag::name),
        Value::NewName => named(flag::saved_name),
        Value::Word(words) => words.to_vec().into(),
        Value::Pattern => ValueParser::new(pattern),
        Value::Shard => ValueParser::new(str::parse::<AskedShard>),
    }
}

fn within<T>(range: RangeInclusive<T>, what: &'static str) -> ValueParser
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    ValueParser::new(move |text: &str| {
        text.parse::<T>()
            .ok()
            .filter(|value| range.contains(value))
            .ok_or_else(|| format!("give {what} from {} to {}", range.start(), range.end()))
    })
}

fn named(check: fn(&str) -> Result<(), String>) -> ValueParser {
    ValueParser::new(move |text: &str| check(text).map(|()| text.to_owned()))
}

fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        format!("not a regular expression: {error}\nescape special characters with `\\`")
    })
}

#[cfg(test)]
#[path = "../../tests/common/help.rs"]
mod help;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_fits_on_a_screen_and_its_example_is_understood() {
        for example in help::examples(command(), help::COLUMNS, str::to_owned) {
            let line =
                example.strip_prefix("cargo bench --bench inference").expect("a bench target");
            read(line.split_whitespace().map(str::to_owned)).expect(line);
        }
    }

    /// Every flag with a value, and what is none of its values. Criterion would panic at many, and
    /// accept some that no run could be made with.
    #[test]
    fn a_bad_value_is_told_with_its_flag() {
        let seconds =
            ["0", "-1", "nan", "inf", "-inf", "1e30", "1e-30", "86401", "abc", "", "--quick"];
        let share = ["0", "1", "2", "-0.5", "nan", "1e-300", "abc", ""];
        let name = ["", "../x", "a/b", "a\\b", ".", "..", ".hidden"];
        let word = ["", "abc", "0"];
        for (flag, values) in [
            ("--measurement-time", &seconds[..]),
            ("--warm-up-time", &seconds),
            ("--profile-time", &[&seconds[..], &["0.5"]].concat()),
            (
                "--sample-size",
                &["0", "9", "-10", "10.5", "1e3", "1000001", "18446744073709551616", "abc", ""],
            ),
            ("--nresamples", &["0", "-1", "1.5", "18446744073709551615", "abc", ""]),
            ("--noise-threshold", &["-0.1", "nan", "inf", "1e30", "abc", ""]),
            ("--confidence-level", &share),
            ("--significance-level", &share),
            (
                "--save-baseline",
                &[&name[..], &["new", "new@1", "change", "runs", "lock", "noise.json"]].concat(),
            ),
            ("--baseline", &name),
            ("--baseline-lenient", &name),
            ("--load-baseline", &name),
            ("--color", &word),
            ("--format", &word),
            ("--plotting-backend", &word),
            ("--output-format", &word),
            ("--partition", &word),
            (
                "--shard",
                &["", "3", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/2/3", "auto/0", "--quick"],
            ),
        ] {
            for value in values {
                let words = ["bench", "--bench", flag, value].map(str::to_owned);
                let error = read(words).expect_err(value);
                // An empty value is named by the rest of the line.
                let named = value.is_empty() || error.contains(&format!("'{value}'"));
                assert!(error.contains(&format!("'{flag} <")) && named, "{flag} {value}: {error}");
                assert!(!error.starts_with("error"), "{error}");
            }
        }
    }

    #[test]
    fn a_bad_value_is_told_with_what_would_do() {
        let refused = |flag: &str, value: &str| {
            let text = read(["bench", flag, value].map(str::to_owned)).expect_err(value);
            let (what, help) = text.split_once("\n\n").expect("two parts");
            assert!(help.contains("--help"), "{help}");
            what.to_owned()
        };
        assert_eq!(
            refused("--measurement-time", "1e30"),
            "invalid value '1e30' for '--measurement-time <SECONDS>': give seconds from \
             0.000001 to 86400"
        );
        assert_eq!(
            refused("--sample-size", "abc"),
            "invalid value 'abc' for '--sample-size <N>': give a whole number from 10 to \
             1000000"
        );
    }

    #[test]
    fn a_pattern_stands_behind_an_equals_sign_or_matches_everything() {
        let profile = |line: &str| {
            let words = ["bench"].into_iter().chain(line.split(' ')).map(str::to_owned);
            let flags = read(words)?;
            let pattern = flags.get_one::<Regex>("profile").map(|it| it.as_str().to_owned());
            Ok::<_, String>((pattern, flags.get_one::<String>(FILTER).cloned()))
        };
        let words = |pattern: Option<&str>, filter: Option<&str>| {
            Ok((pattern.map(str::to_owned), filter.map(str::to_owned)))
        };
        assert_eq!(profile("--bench sort"), words(None, Some("sort")));
        assert_eq!(profile("--profile sort"), words(Some(EVERY), Some("sort")));
        assert_eq!(profile("sort --profile=^a|b$"), words(Some("^a|b$"), Some("sort")));
        let error = profile("--profile=(").expect_err("no expression");
        assert!(error.contains("'(' for '--profile"), "{error}");
        assert!(error.contains("not a regular expression"), "{error}");
    }

    #[test]
    fn the_ends_of_the_ranges_are_inside() {
        for line in [
            "--measurement-time 0.000001 --warm-up-time 86400 --sample-size 10",
            "--profile-time 1 --nresamples 1 --noise-threshold 0",
            "--measurement-time 0.1 --confidence-level 0.9 --save-baseline pr-12_a.b",
        ] {
            let words = ["bench"].into_iter().chain(line.split(' ')).map(str::to_owned);
            read(words).expect(line);
        }
    }
}
