//! The flags of the command line, and which values they may have.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Parser;
use plan::cost;

/// Criterion's flags, with ranges that it panics beyond, and ours.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Flags {
    pub filter: Option<String>,
    #[arg(long)]
    pub exact: bool,
    #[arg(long)]
    pub ignored: bool,
    #[arg(long)]
    pub list: bool,
    #[arg(long)]
    pub test: bool,
    #[arg(long)]
    pub bench: bool,
    #[arg(long, value_parser = profile_seconds, allow_hyphen_values = true)]
    pub profile_time: Option<f64>,
    #[arg(short = 's', long, value_parser = saved_name)]
    pub save_baseline: Option<String>,
    #[arg(short = 'b', long, value_parser = name)]
    pub baseline: Option<String>,
    #[arg(long, value_parser = name)]
    pub baseline_lenient: Option<String>,
    #[arg(long, value_parser = name)]
    pub load_baseline: Option<String>,
    #[arg(long)]
    pub discard_baseline: bool,
    #[arg(long, value_parser = samples, allow_hyphen_values = true)]
    pub sample_size: Option<u64>,
    #[arg(long, value_parser = seconds, allow_hyphen_values = true)]
    pub warm_up_time: Option<f64>,
    #[arg(long, value_parser = seconds, allow_hyphen_values = true)]
    pub measurement_time: Option<f64>,
    #[arg(long)]
    pub quick: bool,
    #[arg(short = 'c', long, alias = "colour", value_parser = ["auto", "always", "never"])]
    pub color: Option<String>,
    #[arg(long, value_parser = ["pretty", "terse"])]
    pub format: Option<String>,
    #[arg(long, value_parser = resamples, allow_hyphen_values = true)]
    pub nresamples: Option<u64>,
    #[arg(long, value_parser = threshold, allow_hyphen_values = true)]
    pub noise_threshold: Option<f64>,
    #[arg(long, value_parser = share, allow_hyphen_values = true)]
    pub confidence_level: Option<f64>,
    #[arg(long, value_parser = share, allow_hyphen_values = true)]
    pub significance_level: Option<f64>,
    #[arg(long, value_parser = ["gnuplot", "plotters"])]
    pub plotting_backend: Option<String>,
    #[arg(long, value_parser = ["criterion", "bencher"])]
    pub output_format: Option<String>,
    #[arg(short = 'v', long)]
    pub verbose: bool,
    #[arg(long)]
    pub quiet: bool,
    #[arg(short = 'n', long)]
    pub noplot: bool,
    #[arg(long)]
    pub nocapture: bool,
    #[arg(long)]
    pub show_output: bool,
    #[arg(long)]
    pub include_ignored: bool,
    #[arg(short = 'V', long)]
    pub version: bool,
    #[arg(short = 'h', long)]
    pub help: bool,
    /// Ours.
    #[arg(long)]
    pub wait: bool,
}

impl Flags {
    /// Reads `arguments`, the program's name first.
    ///
    /// # Errors
    /// Which flag is unknown, or has which bad value.
    pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        Self::try_parse_from(arguments).map_err(|error| {
            let text = error.to_string();
            text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
        })
    }
}

/// A day, and the shortest time that criterion can tell from none.
const SECONDS: RangeInclusive<f64> = 1e-6..=86_400.0;

fn seconds(text: &str) -> Result<f64, String> {
    number(text, SECONDS, "seconds")
}

fn profile_seconds(text: &str) -> Result<f64, String> {
    number(text, 1.0..=*SECONDS.end(), "seconds")
}

fn samples(text: &str) -> Result<u64, String> {
    number(text, cost::MIN_SAMPLES..=1_000_000, "a whole number")
}

fn resamples(text: &str) -> Result<u64, String> {
    number(text, 1..=10_000_000, "a whole number")
}

fn threshold(text: &str) -> Result<f64, String> {
    number(text, 0.0..=1000.0, "a share such as 0.05,")
}

fn share(text: &str) -> Result<f64, String> {
    number(text, 0.000_001..=0.999_999, "a share such as 0.95,")
}

fn number<T>(text: &str, range: RangeInclusive<T>, what: &str) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    text.parse().ok().filter(|value| range.contains(value)).ok_or_else(|| {
        let (start, end) = range.into_inner();
        format!("give {what} from {start} to {end}")
    })
}

/// A name is a folder's.
fn name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(['/', '\\']) || text.starts_with('.') {
        return Err("it names a folder; use letters, digits, `-`, `_`".to_owned());
    }
    Ok(text.to_owned())
}

/// A name that neither criterion nor the records use for something else.
fn saved_name(text: &str) -> Result<String, String> {
    const TAKEN: [&str; 6] = ["new", "change", "report", "runs", "profiles", "lock"];
    match name(text)? {
        name if TAKEN.contains(&name.as_str()) => {
            Err("it is the name of something else there; use another".to_owned())
        }
        name => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("--save-baseline", &[&name[..], &["new", "change", "runs", "lock"]].concat()),
            ("--baseline", &name),
            ("--baseline-lenient", &name),
            ("--load-baseline", &name),
            ("--color", &word),
            ("--format", &word),
            ("--plotting-backend", &word),
            ("--output-format", &word),
        ] {
            for value in values {
                let words = ["bench", "--bench", flag, value].map(str::to_owned);
                let error = Flags::read(words).expect_err(value);
                // An empty value is named by the rest of the line.
                let named = value.is_empty() || error.contains(&format!("'{value}'"));
                assert!(error.contains(&format!("'{flag} <")) && named, "{flag} {value}: {error}");
                assert!(!error.starts_with("error"), "{error}");
            }
        }
    }

    #[test]
    fn a_bad_value_is_told_with_what_would_do() {
        let read = |flag: &str, value: &str| {
            Flags::read(["bench", flag, value].map(str::to_owned)).expect_err(value)
        };
        assert_eq!(
            read("--measurement-time", "1e30"),
            "invalid value '1e30' for '--measurement-time <MEASUREMENT_TIME>': give seconds from \
             0.000001 to 86400"
        );
        assert_eq!(
            read("--sample-size", "abc"),
            "invalid value 'abc' for '--sample-size <SAMPLE_SIZE>': give a whole number from 10 to \
             1000000"
        );
    }

    #[test]
    fn the_ends_of_the_ranges_are_inside() {
        for line in [
            "--measurement-time 0.000001 --warm-up-time 86400 --sample-size 10",
            "--profile-time 1 --nresamples 1 --noise-threshold 0",
            "--measurement-time 0.1 --confidence-level 0.9 --save-baseline pr-12_a.b",
        ] {
            let words = ["bench"].into_iter().chain(line.split(' ')).map(str::to_owned);
            Flags::read(words).expect(line);
        }
    }
}
