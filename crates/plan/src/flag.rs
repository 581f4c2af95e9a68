//! The flags of a bench target, criterion's and ours: one definition for all that read them, pass them on or refuse them.

use std::ffi::OsStr;
use std::fmt::Display;
use std::iter;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, CommandFactory as _, Parser};

use crate::cost;
use crate::shard::{AskedShard, Partition};

/// The variable that holds our flags with their values, as JSON, where criterion reads the arguments.
pub const HIDDEN: &str = "CRITERION_TORCH_FLAGS";

/// The flags that criterion does not know.
const OURS: [&str; 7] = ["budget", "fastest", "wait", "shard", "partition", "resume", "profile"];

/// The pattern of `--profile` without a value: it matches everything.
pub const EVERY: &str = "";

/// A day, and the shortest time that criterion can tell from none.
const SECONDS: RangeInclusive<f64> = 1e-6..=86_400.0;

const EXAMPLE: &str = "\
Example:
  cargo bench --bench inference -- int8wo --save-baseline main

Read more: docs/book/src/configs/ids.md";

/// The command line of a bench target. Criterion panics beyond the ranges of values.
#[derive(Debug, Clone, Parser)]
#[command(
    about = "Measure the cases of a bench target",
    long_about = "Measure the cases of a bench target: those of its default configs, or of the files that the variable \
                  BENCH_CONFIG names. Criterion's options work as in any bench target.",
    after_long_help = EXAMPLE,
    override_usage = "cargo bench --bench <TARGET> -- [OPTIONS] [FILTER]",
    max_term_width = 100,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct BenchFlags {
    /// Only cases whose id matches this regular expression
    pub filter: Option<String>,
    /// Print the ids of the selected cases
    #[arg(long)]
    pub list: bool,
    /// Check each selected case and run it once, without measuring
    #[arg(long)]
    pub test: bool,
    /// Take the filter as a whole id
    #[arg(long)]
    pub exact: bool,
    /// Keep the results under this name [default: base]
    #[arg(long, short, value_name = "NAME", value_parser = saved_name)]
    pub save_baseline: Option<String>,
    /// Compare with results kept earlier, and keep no new ones
    #[arg(long, short, value_name = "NAME", value_parser = name)]
    pub baseline: Option<String>,
    /// The same, where cases may be new
    #[arg(long, value_name = "NAME", value_parser = name, hide_short_help = true)]
    pub baseline_lenient: Option<String>,
    /// Take results kept earlier as new ones; measure nothing
    #[arg(long, value_name = "NAME", value_parser = name, hide_short_help = true)]
    pub load_baseline: Option<String>,
    /// Measure, and keep no results
    #[arg(long, hide_short_help = true)]
    pub discard_baseline: bool,
    /// Samples per case, over `sampling.samples`
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    #[arg(value_parser = in_range(cost::MIN_SAMPLES..=1_000_000, "a whole number"))]
    pub sample_size: Option<u64>,
    /// Warm-up per case, over `sampling.warm_up_s`
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = in_range(SECONDS, "seconds"))]
    pub warm_up_time: Option<f64>,
    /// Time per case, over `sampling.measurement_s`
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = in_range(SECONDS, "seconds"))]
    pub measurement_time: Option<f64>,
    /// Measure for this long in all, e.g. 90s, 10min, 2h: undecided speed-ups get the rest
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = duration)]
    pub budget: Option<f64>,
    /// With --budget: look for the fastest of each group, and give no more time to those that are surely slower
    #[arg(long, requires = "budget", hide_short_help = true)]
    pub fastest: bool,
    /// Measure each case at two points only, without warm-up
    #[arg(long)]
    pub quick: bool,
    /// Run each case so long for a profiler; keep nothing
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    #[arg(value_parser = in_range(1.0..=*SECONDS.end(), "seconds"))]
    pub profile_time: Option<f64>,
    /// Wait while another run measures in this target folder
    #[arg(long)]
    pub wait: bool,
    /// Run part I of N, e.g. 3/16; `auto` or `auto/16`: the one that a scheduler's variables say
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    pub shard: Option<AskedShard>,
    /// How --shard chooses: equally long parts, or by a hash of the id [default: balanced]
    #[arg(long, value_name = "WORD", value_parser = partition(), hide_short_help = true)]
    pub partition: Option<Partition>,
    /// Keep what is measured under this name, and measure the rest
    #[arg(long)]
    pub resume: bool,
    /// Profile the measured cases (that match) afterwards: operations, memory
    // The filter of the run may be the next word.
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = EVERY)]
    pub profile: Option<String>,
    /// Resamples of the bootstrap [default: 10000]
    #[arg(long, value_name = "N", allow_hyphen_values = true, hide_short_help = true)]
    #[arg(value_parser = in_range(1_u64..=10_000_000, "a whole number"))]
    pub nresamples: Option<u64>,
    /// Least change that criterion reports [default: 0.01]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide_short_help = true)]
    #[arg(value_parser = in_range(0.0..=1000.0, "a share such as 0.05,"))]
    pub noise_threshold: Option<f64>,
    /// Confidence of criterion's intervals [default: 0.95]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide_short_help = true)]
    #[arg(value_parser = in_range(0.000_001..=0.999_999, "a share such as 0.95,"))]
    pub confidence_level: Option<f64>,
    /// Significance of criterion's test [default: 0.05]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide_short_help = true)]
    #[arg(value_parser = in_range(0.000_001..=0.999_999, "a share such as 0.95,"))]
    pub significance_level: Option<f64>,
    /// When to colour the output
    #[arg(long, short, alias = "colour", value_name = "WORD", value_parser = ["auto", "always", "never"])]
    #[arg(hide_short_help = true)]
    pub color: Option<String>,
    /// Format of the output
    #[arg(long, value_name = "WORD", value_parser = ["criterion", "bencher"], hide_short_help = true)]
    pub output_format: Option<String>,
    /// Program that plots
    #[arg(long, value_name = "WORD", value_parser = ["gnuplot", "plotters"], hide_short_help = true)]
    pub plotting_backend: Option<String>,
    /// Draw no plots
    #[arg(long, short, hide_short_help = true)]
    pub noplot: bool,
    /// Print more statistics
    #[arg(long, short, hide_short_help = true)]
    pub verbose: bool,
    /// Print only results
    #[arg(long, hide_short_help = true)]
    pub quiet: bool,
    /// Format of --list
    #[arg(long, value_name = "WORD", value_parser = ["pretty", "terse"], hide_short_help = true)]
    pub format: Option<String>,
    /// Print help; --help shows all options
    #[arg(long, short, action = ArgAction::Help)]
    pub help: Option<bool>,
    /// Given by cargo: the cases are measured
    #[arg(long, hide = true)]
    pub bench: bool,
    /// Given by test runners: no case is run
    #[arg(long, hide = true)]
    pub ignored: bool,
    /// Given by test runners, without effect
    #[arg(long, short = 'V', hide = true)]
    pub version: bool,
    /// Given by test runners, without effect
    #[arg(long, hide = true)]
    pub include_ignored: bool,
    /// Given by test runners, without effect
    #[arg(long, hide = true)]
    pub nocapture: bool,
    /// Given by test runners, without effect
    #[arg(long, hide = true)]
    pub show_output: bool,
}

static COMMAND: LazyLock<Command> = LazyLock::new(BenchFlags::command);

impl BenchFlags {
    /// Reads `arguments`, the program's name first. Help ends the process.
    ///
    /// # Errors
    /// When a bench target cannot be run with them.
    pub fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        Self::try_parse_from(arguments).map_err(|error| {
            if error.kind() == ErrorKind::DisplayHelp {
                error.exit();
            }
            let text = error.to_string();
            text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
        })
    }
}

fn in_range<T>(
    range: RangeInclusive<T>,
    what: &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| {
        text.parse::<T>()
            .ok()
            .filter(|value| range.contains(value))
            .ok_or_else(|| format!("give {what} from {} to {}", range.start(), range.end()))
    }
}

fn partition() -> impl TypedValueParser<Value = Partition> {
    PossibleValuesParser::new(Partition::ALL.iter().map(|it| it.as_str()))
        .try_map(|word| word.parse::<Partition>())
}

/// The effect of an option on a run's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// They are kept as without it.
    Kept,
    /// They are kept, but under no name.
    Unnamed,
    /// The run measures and keeps nothing.
    Dropped,
    /// Nothing is measured.
    None,
}

/// A word of a command line, with the next one where that is its value; `--`, with all that follow it.
#[derive(Debug)]
pub struct Word<'w, W> {
    /// The option that it gives, if it gives one.
    pub option: Option<&'w Arg>,
    /// The option as it was written, without its value.
    pub written: &'w str,
    /// The value that is joined to the option: `--name=value`, `-svalue` or `-s=value`.
    pub joined: Option<&'w str>,
    /// The word itself, and those that belong to it.
    pub words: &'w [W],
}

impl<'w, W: AsRef<OsStr>> Word<'w, W> {
    /// Whether it gives the option of this name.
    pub fn is(&self, name: &str) -> bool {
        self.option.is_some_and(|it| it.get_long() == Some(name))
    }

    /// Whether criterion does not know the option.
    pub fn is_ours(&self) -> bool {
        OURS.iter().any(|name| self.is(name))
    }

    /// The effect of the option on the results.
    pub fn results(&self) -> Results {
        match self.option.and_then(Arg::get_long) {
            Some("list" | "test" | "load-baseline" | "help") => Results::None,
            Some("discard-baseline" | "profile-time") => Results::Dropped,
            Some("baseline" | "baseline-lenient") => Results::Unnamed,
            _ => Results::Kept,
        }
    }

    /// The value of the option, empty where it has none.
    pub fn value(&self) -> &'w str {
        let next = || self.words.get(1).and_then(|it| it.as_ref().to_str());
        self.joined.or_else(next).unwrap_or_default()
    }
}

/// Groups the words of a command line of a bench target.
pub fn words<W: AsRef<OsStr>>(words: &[W]) -> impl Iterator<Item = Word<'_, W>> {
    words_of(&COMMAND, words)
}

/// Groups the words of a command line of `command`, which may be wrong.
pub fn words_of<'w, W: AsRef<OsStr>>(
    command: &'w Command,
    mut rest: &'w [W],
) -> impl Iterator<Item = Word<'w, W>> {
    iter::from_fn(move || {
        let first = rest.first()?.as_ref();
        let text = first.to_str().unwrap_or_default();
        let (option, joined) = option(command, text).unzip();
        let joined = joined.unwrap_or_default();
        let written = &text[..text.len() - joined.len()];
        let joined = (!joined.is_empty()).then(|| joined.strip_prefix('=').unwrap_or(joined));
        let is_apart = |it: &Arg| it.get_action().takes_values() && !it.is_require_equals_set();
        let count = match option {
            _ if first == "--" => rest.len(),
            Some(option) if joined.is_none() && is_apart(option) => rest.len().min(2),
            _ => 1,
        };
        let (words, others) = rest.split_at(count);
        rest = others;
        Some(Word { option, written, joined, words })
    })
}

/// The option that a word gives, and what is joined to it.
fn option<'w>(command: &'w Command, word: &'w str) -> Option<(&'w Arg, &'w str)> {
    let mut arguments = command.get_arguments();
    if let Some(long) = word.strip_prefix("--") {
        let (name, joined) = long.split_at(long.find('=').unwrap_or(long.len()));
        let is = |it: &&Arg| {
            let aliases = it.get_all_aliases().unwrap_or_default();
            it.get_long() == Some(name) || aliases.contains(&name)
        };
        return Some((arguments.find(is)?, joined));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    Some((arguments.find(|it| it.get_short() == Some(letter))?, letters.as_str()))
}

/// Seconds of a time with its unit: `90s`, `10min`, `1.5h`.
///
/// # Errors
/// When it is no such time.
pub fn duration(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 3] = [("min", 60.0), ("h", 3600.0), ("s", 1.0)];
    /// Thirty days.
    const MOST_S: f64 = 30.0 * 86_400.0;
    let found = UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let number = found.and_then(|(number, unit)| Some(number.trim().parse::<f64>().ok()? * unit));
    number.filter(|seconds| (1.0..=MOST_S).contains(seconds)).ok_or_else(|| {
        "give a time from 1s to 720h with its unit, such as 90s, 10min or 2h".to_owned()
    })
}

/// Checks the name of saved results.
///
/// # Errors
/// When no folder can have it.
pub fn name(text: &str) -> Result<String, String> {
    /// Criterion and the records add to it, and a file system ends at 255.
    const LONGEST: usize = 100;
    let is_folder = |text: &str| !text.starts_with('.') && !text.contains(['/', '\\']);
    match text.len() {
        1..=LONGEST if is_folder(text) && !text.contains(char::is_control) => Ok(text.to_owned()),
        0..=LONGEST => {
            Err("it becomes the name of a folder; use letters, digits, `-`, `_`".to_owned())
        }
        bytes => Err(format!(
            "it becomes the name of a folder and has {bytes} bytes; use {LONGEST} at most"
        )),
    }
}

/// Checks a name to save results under: what criterion, the records or the tools call so is not to be hidden or replaced.
/// `NAME@1` is the first of several runs under NAME.
///
/// # Errors
/// When no folder can have it, or something else has.
pub fn saved_name(text: &str) -> Result<String, String> {
    const TAKEN: [&str; 6] = ["new", "change", "report", "runs", "profiles", "lock"];
    const FILES: [&str; 6] = ["json", "jsonl", "lock", "html", "txt", "running"];
    let saved = name(text)?;
    let text = text.to_ascii_lowercase();
    let several =
        text.rsplit_once('@').filter(|(_, run)| run.bytes().all(|it| it.is_ascii_digit()));
    let name = several.map_or(&*text, |(name, _)| name);
    if TAKEN.contains(&name) {
        return Err(format!("`{name}` is reserved; use another name"));
    }
    match text.rsplit_once('.') {
        Some((_, ending)) if FILES.contains(&ending) => Err(format!(
            "a file beside the results may be called so; use a name that does not end in `.{ending}`"
        )),
        _ => Ok(saved),
    }
}

/// The regular expression that matches a text alone.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// The filter that selects an id in which `filter` literally stands, if it is not that filter itself: in an expression, `+`
/// and others mean something else.
pub fn escaped_filter(filter: &str, ids: &[impl AsRef<str>]) -> Option<String> {
    let escaped = escaped(filter);
    let stands = || ids.iter().any(|id| id.as_ref().contains(filter));
    (escaped != filter && stands()).then_some(escaped)
}

/// The value of an option among the words of a bench target, empty where it has none.
pub fn value<'w>(arguments: &'w [impl AsRef<OsStr>], name: &str) -> Option<&'w str> {
    words(arguments).find(|it| it.is(name)).map(|it| it.value())
}

/// The filter among the words of a bench target, and whether it is a whole id.
pub fn filter<W: AsRef<OsStr>>(arguments: &[W]) -> Option<(&W, bool)> {
    let (mut filter, mut exact) = (None, false);
    for word in words(arguments) {
        exact |= word.is("exact");
        filter = filter.or(match word.words {
            [dashes, behind @ ..] if dashes.as_ref() == "--" => behind.first(),
            [free] if !word.written.starts_with('-') => Some(free),
            _ => None,
        });
    }
    Some((filter?, exact))
}

#[cfg(test)]
#[path = "flag_tests.rs"]
mod tests;
