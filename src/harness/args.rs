//! The command line, as far as the harness has to know it.
//!
//! Criterion parses and validates its own flags; this reads the same arguments a second time,
//! because criterion keeps its filter and mode private, and a case has to be known as selected
//! before anything is built for it.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::ArgMatches;
use regex::Regex;

use super::flags::{self, FILTER};

/// Criterion's way with a selected case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    List,
    /// Runs each step once, without sampling.
    Test,
    /// Runs each step for a while, for an external profiler; saves nothing.
    Profile,
    Measure,
}

#[derive(Debug)]
enum Filter {
    All,
    None,
    Exact(String),
    Matching(Regex),
}

#[derive(Debug)]
pub struct Args {
    pub action: Action,
    /// The baseline under which criterion saves, beside `new`; absent when it compares only.
    pub saved_as: Option<String>,
    pub saves: bool,
    /// The baselines that have to be on disk for a case to be run.
    pub needs: Needs,
    /// `--quick`: two points, no warm-up.
    pub quick: bool,
    /// Flags that win over a config's `sampling`.
    pub overrides: Overrides,
    /// `--wait`: another run in the same folder is waited for.
    pub waits: bool,
    /// Whether one of the flags is not criterion's.
    has_own_flag: bool,
    filter: Filter,
}

/// Ours, and the variable that stands for it once criterion reads the arguments.
const WAIT: &str = "--wait";
const WAITS: &str = "CRITERION_TORCH_WAIT";

/// Saved results without which criterion panics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// `--baseline NAME`: every selected case is compared with it.
    pub baseline: Option<String>,
    /// `--load-baseline NAME`: the samples come from it, and nothing is run.
    pub samples: Option<String>,
}

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
    pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let flags = flags::read(arguments)?;
        let name = |flag| flags.get_one::<String>(flag).cloned();
        let needs = Needs { baseline: name("baseline"), samples: name("load-baseline") };
        let compares = needs.baseline.is_some() || name("baseline-lenient").is_some();
        let saves = !flags.get_flag("discard-baseline") && needs.samples.is_none();
        let saved_as = (saves && !compares)
            .then(|| name("save-baseline").unwrap_or_else(|| "base".to_owned()));
        Ok(Self {
            action: action(&flags),
            saved_as,
            saves,
            needs,
            quick: flags.get_flag("quick"),
            overrides: Overrides {
                samples: flags.get_one("sample-size").copied(),
                warm_up_s: flags.get_one("warm-up-time").copied(),
                measurement_s: flags.get_one("measurement-time").copied(),
            },
            waits: flags.get_flag("wait") || std::env::var_os(WAITS).is_some(),
            has_own_flag: flags.get_flag("wait"),
            filter: filter(&flags)?,
        })
    }

    /// Starts this process anew without the flags that criterion does not know: it reads the process's
    /// arguments itself and would refuse them.
    pub fn hide_own_flags(&self) -> Result<(), String> {
        if !self.has_own_flag {
            return Ok(());
        }
        let program = std::env::current_exe()
            .map_err(|error| format!("{WAIT}: this executable has no path: {error}"))?;
        let arguments = std::env::args_os().skip(1).filter(|argument| argument != WAIT);
        let error = Command::new(&program).args(arguments).env(WAITS, "1").exec();
        Err(format!("{WAIT}: {}: {error}", program.display()))
    }

    pub fn filter(&self) -> Option<&str> {
        match &self.filter {
            Filter::All | Filter::None => None,
            Filter::Exact(id) => Some(id),
            Filter::Matching(regex) => Some(regex.as_str()),
        }
    }

    pub fn is_exact(&self) -> bool {
        matches!(self.filter, Filter::Exact(_))
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

/// Without `--bench` (under `cargo test --benches`, or a test runner) criterion only tests.
fn action(flags: &ArgMatches) -> Action {
    if flags.get_flag("list") {
        Action::List
    } else if flags.get_flag("test") || !flags.get_flag("bench") {
        Action::Test
    } else if flags.contains_id("profile-time") {
        Action::Profile
    } else {
        Action::Measure
    }
}

fn filter(flags: &ArgMatches) -> Result<Filter, String> {
    match flags.get_one::<String>(FILTER) {
        _ if flags.get_flag("ignored") => Ok(Filter::None),
        None => Ok(Filter::All),
        Some(id) if flags.get_flag("exact") => Ok(Filter::Exact(id.to_owned())),
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
    fn actions_are_criterions() {
        for (line, action) in [
            ("", Action::Test),
            ("--bench", Action::Measure),
            ("--bench --test", Action::Test),
            ("--bench --list --format terse", Action::List),
            ("--bench --profile-time 2", Action::Profile),
        ] {
            assert_eq!(read(line).action, action, "{line}");
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
        assert_eq!((exact.filter(), exact.is_exact()), (Some("a/b/c"), true));
        let matching = read("--bench a|b");
        assert_eq!((matching.filter(), matching.is_exact()), (Some("a|b"), false));
        assert!(!read("--bench --ignored").selects("a"));
    }

    #[test]
    fn an_unknown_flag_is_an_error_and_ours_is_none() {
        let error = Args::read(["bench", "--wiat"].map(str::to_owned)).unwrap_err();
        assert!(error.contains("'--wiat'") && error.contains("'--wait'"), "{error}");
        assert!(read("--bench --wait").waits);
        assert!(!read("--bench").waits);
    }

    #[test]
    fn a_filter_that_is_no_expression_is_an_error_with_a_remedy() {
        let error = Args::read(["bench", "--bench", "("].map(str::to_owned)).unwrap_err();
        assert!(error.contains("`(`") && error.contains("--exact"), "{error}");
    }
}
