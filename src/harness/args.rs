//! What the command line asks for, as far as the harness has to know.
//!
//! Criterion parses and validates its own flags; this reads the same arguments a second time,
//! because criterion keeps its filter and mode private, and a case has to be known as selected
//! before anything is built for it.

use clap::{ArgAction, Parser};
use regex::Regex;

/// What criterion does with a selected case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Prints ids.
    List,
    /// Runs each step once, without sampling.
    Test,
    /// Runs each step for a while, for an external profiler; saves nothing.
    Profile,
    /// Samples.
    Measure,
}

/// The flags of criterion that matter here; the others are accepted and left to criterion.
#[derive(Debug, Parser)]
#[command(ignore_errors = true, disable_help_flag = true, disable_version_flag = true)]
struct Flags {
    filter: Option<String>,
    #[arg(long, action = ArgAction::SetTrue)]
    exact: bool,
    #[arg(long, action = ArgAction::SetTrue)]
    ignored: bool,
    #[arg(long, action = ArgAction::SetTrue)]
    list: bool,
    #[arg(long, action = ArgAction::SetTrue)]
    test: bool,
    #[arg(long, action = ArgAction::SetTrue)]
    bench: bool,
    #[arg(long)]
    profile_time: Option<f64>,
    #[arg(short = 's', long)]
    save_baseline: Option<String>,
    #[arg(short = 'b', long)]
    baseline: Option<String>,
    #[arg(long)]
    baseline_lenient: Option<String>,
    #[arg(long)]
    load_baseline: Option<String>,
    #[arg(long, action = ArgAction::SetTrue)]
    discard_baseline: bool,
    #[arg(long)]
    sample_size: Option<u64>,
    #[arg(long)]
    warm_up_time: Option<f64>,
    #[arg(long)]
    measurement_time: Option<f64>,
    #[arg(long, action = ArgAction::SetTrue)]
    quick: bool,
    // Flags with a value, so that the value is not taken for the filter.
    #[arg(short = 'c', long, alias = "colour")]
    color: Option<String>,
    #[arg(long)]
    format: Option<String>,
    #[arg(long)]
    nresamples: Option<u64>,
    #[arg(long)]
    noise_threshold: Option<f64>,
    #[arg(long)]
    confidence_level: Option<f64>,
    #[arg(long)]
    significance_level: Option<f64>,
    #[arg(long)]
    plotting_backend: Option<String>,
    #[arg(long)]
    output_format: Option<String>,
    // Flags without a value.
    #[arg(short = 'v', long, action = ArgAction::SetTrue)]
    verbose: bool,
    #[arg(long, action = ArgAction::SetTrue)]
    quiet: bool,
    #[arg(short = 'n', long, action = ArgAction::SetTrue)]
    noplot: bool,
    #[arg(long, action = ArgAction::SetTrue)]
    nocapture: bool,
    #[arg(long, action = ArgAction::SetTrue)]
    show_output: bool,
    #[arg(long, action = ArgAction::SetTrue)]
    include_ignored: bool,
    #[arg(short = 'V', long, action = ArgAction::SetTrue)]
    version: bool,
}

/// Which cases are selected; criterion's rules.
#[derive(Debug)]
enum Filter {
    All,
    None,
    Exact(String),
    Matching(Regex),
}

/// The command line, resolved.
#[derive(Debug)]
pub struct Args {
    /// What criterion will do.
    pub mode: Mode,
    /// Where criterion saves, beside `new`; absent when it compares only.
    pub saved_as: Option<String>,
    /// Whether criterion saves anything at all.
    pub saves: bool,
    /// What has to be on disk for a case to be run.
    pub needs: Needs,
    /// `--quick`: two points, no warm-up.
    pub quick: bool,
    /// Flags that win over a config's `sampling`.
    pub overrides: Overrides,
    filter: Filter,
}

/// Saved results without which criterion panics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// `--baseline NAME`: every selected case is compared with it.
    pub baseline: Option<String>,
    /// `--load-baseline NAME`: the samples come from it, and nothing is run.
    pub samples: Option<String>,
}

/// Which parts of the sampling budget the command line sets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides {
    /// `--sample-size`
    pub samples: Option<u64>,
    /// `--warm-up-time`, in seconds
    pub warm_up_s: Option<f64>,
    /// `--measurement-time`, in seconds
    pub measurement_s: Option<f64>,
}

impl Args {
    /// Reads `arguments`, the program's name first.
    ///
    /// # Errors
    /// A filter that is no regular expression, or too few samples.
    pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let flags = Flags::parse_from(arguments);
        if let Some(samples @ 0..10) = flags.sample_size {
            return Err(format!("--sample-size {samples}: criterion takes 10 samples at least"));
        }
        guard(&flags)?;
        let compares = flags.baseline.is_some() || flags.baseline_lenient.is_some();
        let saves = !flags.discard_baseline && flags.load_baseline.is_none();
        let saved_as = (saves && !compares)
            .then(|| flags.save_baseline.clone().unwrap_or_else(|| "base".to_owned()));
        Ok(Self {
            mode: mode(&flags),
            saved_as,
            saves,
            needs: Needs { baseline: flags.baseline.clone(), samples: flags.load_baseline.clone() },
            quick: flags.quick,
            overrides: Overrides {
                samples: flags.sample_size,
                warm_up_s: flags.warm_up_time,
                measurement_s: flags.measurement_time,
            },
            filter: filter(&flags)?,
        })
    }

    /// Whether the samples come from disk: nothing is run.
    pub fn loads(&self) -> bool {
        self.needs.samples.is_some()
    }

    /// Whether criterion will select the benchmark with this id.
    pub fn selects(&self, full_id: &str) -> bool {
        match &self.filter {
            Filter::All => true,
            Filter::None => false,
            Filter::Exact(id) => id == full_id,
            Filter::Matching(regex) => regex.is_match(full_id),
        }
    }
}

/// Refuses what criterion would panic at, or what would write outside its folder.
fn guard(flags: &Flags) -> Result<(), String> {
    let seconds = |name: &str, value: Option<f64>| match value {
        Some(value) if !(value > 0.0 && value.is_finite()) => {
            Err(format!("--{name} {value}: give a number of seconds above 0"))
        }
        _ => Ok(()),
    };
    let share = |name: &str, value: Option<f64>| match value {
        Some(value) if !(value > 0.0 && value < 1.0) => {
            Err(format!("--{name} {value}: give a share between 0 and 1, such as 0.95"))
        }
        _ => Ok(()),
    };
    seconds("warm-up-time", flags.warm_up_time)?;
    seconds("measurement-time", flags.measurement_time)?;
    share("confidence-level", flags.confidence_level)?;
    share("significance-level", flags.significance_level)?;
    if flags.nresamples == Some(0) {
        return Err("--nresamples 0: criterion takes 1 resample at least".to_owned());
    }
    if let Some(value) = flags.noise_threshold.filter(|value| value.is_nan() || *value < 0.0) {
        return Err(format!("--noise-threshold {value}: give a share of 0 or more"));
    }
    match &flags.save_baseline {
        Some(name) if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') => {
            Err(format!("--save-baseline {name}: it names a folder; use letters, digits, `-`, `_`"))
        }
        _ => Ok(()),
    }
}

/// Without `--bench` (under `cargo test --benches`, or a test runner) criterion only tests.
fn mode(flags: &Flags) -> Mode {
    if flags.list {
        Mode::List
    } else if flags.test || !flags.bench {
        Mode::Test
    } else if flags.profile_time.is_some() {
        Mode::Profile
    } else {
        Mode::Measure
    }
}

fn filter(flags: &Flags) -> Result<Filter, String> {
    match &flags.filter {
        _ if flags.ignored => Ok(Filter::None),
        None => Ok(Filter::All),
        Some(id) if flags.exact => Ok(Filter::Exact(id.clone())),
        Some(pattern) => Regex::new(pattern).map(Filter::Matching).map_err(|error| {
            format!(
                "the filter `{pattern}` is not a regular expression: {error}\n\
                 Escape special characters with `\\`, or give a whole id with `--exact`."
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Args {
        let words = std::iter::once("bench").chain(line.split_whitespace()).map(str::to_owned);
        Args::read(words).expect("valid arguments")
    }

    #[test]
    fn modes_are_criterions() {
        for (line, mode) in [
            ("", Mode::Test),
            ("--bench", Mode::Measure),
            ("--bench --test", Mode::Test),
            ("--bench --list --format terse", Mode::List),
            ("--bench --profile-time 2", Mode::Profile),
        ] {
            assert_eq!(read(line).mode, mode, "{line}");
        }
    }

    #[test]
    fn baselines_are_criterions() {
        for (line, saved_as, saves) in [
            ("--bench", Some("base"), true),
            ("--bench --save-baseline main", Some("main"), true),
            ("--bench -s main", Some("main"), true),
            ("--bench --baseline main", None, true),
            ("--bench --baseline-lenient main", None, true),
            ("--bench --discard-baseline", None, false),
            ("--bench --load-baseline new --baseline main", None, false),
        ] {
            let args = read(line);
            assert_eq!((args.saved_as.as_deref(), args.saves), (saved_as, saves), "{line}");
        }
    }

    #[test]
    fn a_filter_is_found_among_other_flags() {
        for line in [
            "--bench int8wo",
            "--bench --sample-size 10 int8wo",
            "int8wo --bench --color never --noise-threshold 0.05",
            "--bench -V int8wo",
        ] {
            let args = read(line);
            assert!(args.selects("inference/a/linear/cpu/int8wo/bf16-1x1x1"), "{line}");
            assert!(!args.selects("inference/a/linear/cpu/int8dq/bf16-1x1x1"), "{line}");
        }
        let exact = read("--bench --exact a/b/c");
        assert!(exact.selects("a/b/c") && !exact.selects("a/b/cd"));
        assert!(!read("--bench --ignored").selects("a"));
    }

    #[test]
    fn too_few_samples_are_refused_before_criterion_panics() {
        let words = ["bench", "--bench", "--sample-size", "5"].map(str::to_owned);
        assert!(Args::read(words).unwrap_err().contains("10 samples at least"));
    }

    #[test]
    fn what_criterion_panics_at_is_refused() {
        for line in [
            "--measurement-time 0",
            "--measurement-time nan",
            "--warm-up-time 0",
            "--confidence-level 2",
            "--significance-level 0",
            "--nresamples 0",
            "--save-baseline ../x",
            "--save-baseline a/b",
        ] {
            let words = ["bench", "--bench"].into_iter().chain(line.split(' ')).map(str::to_owned);
            let error = Args::read(words).expect_err(line);
            let flag = line.split(' ').next().expect("a flag");
            assert!(error.starts_with(flag), "{error}");
        }
        read("--bench --measurement-time 0.1 --confidence-level 0.9 --save-baseline pr-12_a.b");
    }

    #[test]
    fn a_filter_that_is_no_expression_is_an_error_with_a_remedy() {
        let error = Args::read(["bench", "--bench", "("].map(str::to_owned)).unwrap_err();
        assert!(error.contains("`(`") && error.contains("--exact"), "{error}");
    }
}
