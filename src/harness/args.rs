//! The command line, as far as the harness has to know it.
//!
//! Criterion parses and validates its own flags; this reads the same arguments a second time,
//! because criterion keeps its filter and mode private, and a case has to be known as selected
//! before anything is built for it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::ArgMatches;
use plan::Case;
use plan::flag::{self, Flag, Value};
use regex::Regex;

use super::flags::{self, EVERY, FILTER};

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
    /// `--budget`: seconds that the run may take in all.
    pub budget_s: Option<f64>,
    /// `--profile`: the measured cases whose ids match are profiled afterwards.
    pub profiles: Option<Regex>,
    filter: Filter,
}

/// A flag that criterion would refuse. It is removed before criterion reads the arguments, and an environment variable
/// carries its value.
struct OwnFlag {
    name: &'static str,
    variable: &'static str,
}

const WAIT: OwnFlag = OwnFlag { name: "wait", variable: "CRITERION_TORCH_WAIT" };
const PROFILE: OwnFlag = OwnFlag { name: "profile", variable: "CRITERION_TORCH_PROFILE" };
const BUDGET: OwnFlag = OwnFlag { name: "budget", variable: "CRITERION_TORCH_BUDGET" };
const OWN_FLAGS: [&OwnFlag; 3] = [&WAIT, &PROFILE, &BUDGET];

impl OwnFlag {
    /// The flag that an argument names, and its value.
    fn of(argument: &str) -> Option<(&'static Self, Option<&str>)> {
        let (flag, value) = Flag::of(argument)?;
        Some((OWN_FLAGS.into_iter().find(|own| own.name == flag.name)?, value))
    }

    /// Whether its value may be the next argument.
    fn has_value_apart(&self) -> bool {
        let flag = flag::FLAGS.iter().find(|it| it.name == self.name);
        flag.and_then(|it| it.value).is_some_and(Value::may_be_apart)
    }

    /// The value of its environment variable, if the flag was given.
    fn hidden(&self) -> Result<Option<String>, String> {
        let Some(value) = std::env::var_os(self.variable) else { return Ok(None) };
        let value = value.into_string();
        value.map(Some).map_err(|_| format!("{} is not UTF-8", self.variable))
    }
}

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
            waits: flags.get_flag(WAIT.name) || WAIT.hidden()?.is_some(),
            budget_s: budget_s(&flags)?,
            profiles: profiles(&flags)?,
            filter: filter(&flags)?,
        })
    }

    /// Starts this process anew without the flags that criterion does not know: it reads the process's
    /// arguments itself and would refuse them.
    pub fn hide_own_flags() -> Result<(), String> {
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let (kept, hidden) = split(&arguments);
        let Some((first, _)) = hidden.first() else { return Ok(()) };
        let program = std::env::current_exe()
            .map_err(|error| format!("--{}: this executable has no path: {error}", first.name))?;
        let variables = hidden.iter().map(|(flag, value)| (flag.variable, value));
        let error = Command::new(&program).args(kept).envs(variables).exec();
        Err(format!("--{}: {}: {error}", first.name, program.display()))
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

    /// Whether the config alone decides how long a case takes.
    pub fn leaves_times(&self) -> bool {
        let Overrides { samples, warm_up_s, measurement_s } = self.overrides;
        !self.quick
            && self.budget_s.is_none()
            && samples.is_none()
            && warm_up_s.is_none()
            && measurement_s.is_none()
    }

    /// The case with these options applied: sampling options win over its config.
    pub fn applied_to(&self, case: &Case) -> Case {
        let mut case = case.clone();
        let Overrides { samples, warm_up_s, measurement_s } = self.overrides;
        let sampling = &mut case.settings.sampling;
        sampling.samples = samples.or(sampling.samples);
        sampling.warm_up_s = warm_up_s.or(sampling.warm_up_s);
        sampling.measurement_s = measurement_s.or(sampling.measurement_s);
        if self.quick {
            // Two samples, no pilot, and the fewest blocks of a pair.
            (sampling.warm_up_s, sampling.measurement_s) = (Some(0.0), Some(0.0));
        }
        case
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

/// Splits the arguments into those for criterion and our own flags with their values. After `--` nothing is a flag.
fn split(arguments: &[OsString]) -> (Vec<&OsString>, Vec<(&'static OwnFlag, &str)>) {
    let (mut kept, mut own) = (vec![], vec![]);
    let end = arguments.iter().position(|it| it == "--").unwrap_or(arguments.len());
    let mut words = arguments[..end].iter();
    while let Some(argument) = words.next() {
        match argument.to_str().and_then(OwnFlag::of) {
            // Values that are not UTF-8 were refused when the arguments were read.
            Some((flag, None)) if flag.has_value_apart() => {
                own.push((flag, words.next().and_then(|it| it.to_str()).unwrap_or_default()));
            }
            Some((flag, value)) => own.push((flag, value.unwrap_or(EVERY))),
            None => kept.push(argument),
        }
    }
    kept.extend(&arguments[end..]);
    (kept, own)
}

fn profiles(flags: &ArgMatches) -> Result<Option<Regex>, String> {
    if let Some(pattern) = flags.get_one::<Regex>(PROFILE.name) {
        return Ok(Some(pattern.clone()));
    }
    let pattern = PROFILE.hidden()?.map(|pattern| Regex::new(&pattern));
    pattern.transpose().map_err(|error| format!("{}: {error}", PROFILE.variable))
}

fn budget_s(flags: &ArgMatches) -> Result<Option<f64>, String> {
    if let Some(seconds) = flags.get_one::<f64>(BUDGET.name) {
        return Ok(Some(*seconds));
    }
    let seconds = BUDGET.hidden()?.map(|text| flag::duration(&text));
    seconds.transpose().map_err(|error| format!("{}: {error}", BUDGET.variable))
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
    fn criterion_sees_its_own_flags_alone() {
        let split = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (kept, own) = split(&words);
            let kept: Vec<&str> = kept.iter().map(|it| it.to_str().expect("UTF-8")).collect();
            let own = own.iter().map(|(flag, value)| format!("{} {value}", flag.variable));
            (kept.join(" "), own.collect::<Vec<_>>().join(", "))
        };
        for (line, kept, own) in [
            ("--bench int8wo -s main", "--bench int8wo -s main", ""),
            ("--bench --wait sort", "--bench sort", "CRITERION_TORCH_WAIT "),
            ("--profile sort", "sort", "CRITERION_TORCH_PROFILE "),
            (
                "--profile=a=b --wait --profile-time 2",
                "--profile-time 2",
                "CRITERION_TORCH_PROFILE a=b, CRITERION_TORCH_WAIT ",
            ),
            ("--bench --budget 10min sort", "--bench sort", "CRITERION_TORCH_BUDGET 10min"),
            ("--budget=90s sort", "sort", "CRITERION_TORCH_BUDGET 90s"),
            ("--bench -- --wait", "--bench -- --wait", ""),
        ] {
            assert_eq!(split(line), (kept.to_owned(), own.to_owned()), "{line}");
        }
    }

    #[test]
    fn a_budget_is_a_time_with_its_unit() {
        assert_eq!(read("--bench --budget 10min int8wo").budget_s, Some(600.0));
        assert_eq!(read("--bench").budget_s, None);
        let error = Args::read(["bench", "--budget", "10"].map(str::to_owned)).unwrap_err();
        assert!(error.contains("such as 90s, 10min or 2h"), "{error}");
    }

    #[test]
    fn cases_to_profile_are_chosen_by_an_expression() {
        assert!(read("--bench").profiles.is_none());
        let all = read("--bench --profile").profiles.expect("asked for");
        assert!(all.is_match("a/b/c"));
        let some = read("--bench --profile=/int8wo/").profiles.expect("asked for");
        assert!(some.is_match("a/int8wo/b") && !some.is_match("a/int8dq/b"));
    }

    #[test]
    fn a_filter_that_is_no_expression_is_an_error_with_a_remedy() {
        let error = Args::read(["bench", "--bench", "("].map(str::to_owned)).unwrap_err();
        assert!(error.contains("`(`") && error.contains("--exact"), "{error}");
    }
}
