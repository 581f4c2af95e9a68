//! The options of a bench target: criterion's and ours, in one list for all that read them, pass them on or refuse them.

/// One option.
#[derive(Debug)]
pub struct Flag {
    /// Without its dashes.
    pub name: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// Another spelling of its name.
    pub alias: Option<&'static str>,
    /// Its value, if it takes one.
    pub value: Option<Value>,
    /// Its effect on the results.
    pub results: Results,
    /// One line for people; empty where help does not show the option.
    pub help: &'static str,
    /// Whether `-h` shows it, and not only `--help`.
    pub common: bool,
}

/// Values that criterion takes without a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A time.
    Seconds,
    /// A time of at least one second.
    WholeSeconds,
    /// A time with its unit: [`duration`].
    Duration,
    /// Samples of a case.
    Samples,
    /// Resamples of the bootstrap.
    Resamples,
    /// A relative change.
    Threshold,
    /// A probability that is neither 0 nor 1.
    Share,
    /// The name of saved results.
    Name,
    /// A name to save results under.
    NewName,
    /// One of these.
    Word(&'static [&'static str]),
    /// A regular expression on ids, which may be left out: it stands in the same word, behind `=`.
    Pattern,
    /// A part of the plan: [`crate::AskedShard`].
    Shard,
}

impl Value {
    /// Whether the value may be the next word.
    pub fn may_be_apart(self) -> bool {
        self != Self::Pattern
    }
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

const fn switch(name: &'static str, help: &'static str) -> Flag {
    let results = Results::Kept;
    Flag { name, short: None, alias: None, value: None, results, help, common: false }
}

const fn with(name: &'static str, value: Value, help: &'static str) -> Flag {
    Flag { value: Some(value), ..switch(name, help) }
}

/// An option that cargo or a test runner may give, and that changes nothing a user would ask for.
const fn silent(name: &'static str) -> Flag {
    switch(name, "")
}

/// All options, in the order of the help.
pub const FLAGS: &[Flag] = &[
    Flag {
        results: Results::None,
        common: true,
        ..switch("list", "Print the ids of the selected cases")
    },
    Flag {
        results: Results::None,
        common: true,
        ..switch("test", "Check each selected case and run it once, without measuring")
    },
    Flag { common: true, ..switch("exact", "Take the filter as a whole id") },
    Flag {
        short: Some('s'),
        common: true,
        ..with("save-baseline", Value::NewName, "Keep the results under this name [default: base]")
    },
    Flag {
        short: Some('b'),
        results: Results::Unnamed,
        common: true,
        ..with("baseline", Value::Name, "Compare with results kept earlier, and keep no new ones")
    },
    Flag {
        results: Results::Unnamed,
        ..with("baseline-lenient", Value::Name, "The same, where cases may be new")
    },
    Flag {
        results: Results::None,
        ..with(
            "load-baseline",
            Value::Name,
            "Take results kept earlier as new ones; measure nothing",
        )
    },
    Flag {
        results: Results::Dropped,
        ..switch("discard-baseline", "Measure, and keep no results")
    },
    Flag {
        common: true,
        ..with("sample-size", Value::Samples, "Samples per case, over `sampling.samples`")
    },
    Flag {
        common: true,
        ..with("warm-up-time", Value::Seconds, "Warm-up per case, over `sampling.warm_up_s`")
    },
    Flag {
        common: true,
        ..with("measurement-time", Value::Seconds, "Time per case, over `sampling.measurement_s`")
    },
    Flag {
        common: true,
        ..with(
            "budget",
            Value::Duration,
            "Measure for this long in all, e.g. 90s, 10min, 2h: undecided speed-ups get the rest",
        )
    },
    Flag {
        common: true,
        ..switch("quick", "Measure each case at two points only, without warm-up")
    },
    Flag {
        results: Results::Dropped,
        common: true,
        ..with(
            "profile-time",
            Value::WholeSeconds,
            "Run each case so long for a profiler; keep nothing",
        )
    },
    Flag {
        common: true,
        ..switch("wait", "Wait while another run measures in this target folder")
    },
    Flag {
        common: true,
        ..with(
            "shard",
            Value::Shard,
            "Run part I of N, e.g. 3/16; `auto` or `auto/16`: the one that a scheduler's variables say",
        )
    },
    with(
        "partition",
        Value::Word(&["balanced", "hash"]),
        "How --shard chooses: equally long parts, or by a hash of the id [default: balanced]",
    ),
    Flag {
        common: true,
        ..switch("resume", "Keep what is measured under this name, and measure the rest")
    },
    Flag {
        common: true,
        ..with(
            "profile",
            Value::Pattern,
            "Profile the measured cases (that match) afterwards: operations, memory",
        )
    },
    with("nresamples", Value::Resamples, "Resamples of the bootstrap [default: 10000]"),
    with(
        "noise-threshold",
        Value::Threshold,
        "Least change that criterion reports [default: 0.01]",
    ),
    with("confidence-level", Value::Share, "Confidence of criterion's intervals [default: 0.95]"),
    with("significance-level", Value::Share, "Significance of criterion's test [default: 0.05]"),
    Flag {
        short: Some('c'),
        alias: Some("colour"),
        ..with("color", Value::Word(&["auto", "always", "never"]), "When to colour the output")
    },
    with("output-format", Value::Word(&["criterion", "bencher"]), "Format of the output"),
    with("plotting-backend", Value::Word(&["gnuplot", "plotters"]), "Program that plots"),
    Flag { short: Some('n'), ..switch("noplot", "Draw no plots") },
    Flag { short: Some('v'), ..switch("verbose", "Print more statistics") },
    switch("quiet", "Print only results"),
    with("format", Value::Word(&["pretty", "terse"]), "Format of --list"),
    Flag { short: Some('V'), ..silent("version") },
    Flag {
        short: Some('h'),
        results: Results::None,
        common: true,
        ..switch("help", "Print help; --help shows all options")
    },
    silent("bench"),
    silent("ignored"),
    silent("include-ignored"),
    silent("nocapture"),
    silent("show-output"),
];

impl Flag {
    /// The option that a word of a command line is, and the value that the word gives to it: `--name`, `--name=value`,
    /// `-s`, `-svalue` or `-s=value`.
    pub fn of(word: &str) -> Option<(&'static Self, Option<&str>)> {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            let flag = FLAGS.iter().find(|it| it.name == name || it.alias == Some(name))?;
            return Some((flag, value));
        }
        let mut letters = word.strip_prefix('-')?.chars();
        let letter = letters.next()?;
        let flag = FLAGS.iter().find(|it| it.short == Some(letter))?;
        let rest = letters.as_str();
        let value = rest.strip_prefix('=').unwrap_or(rest);
        Some((flag, (!rest.is_empty()).then_some(value)))
    }

    /// As messages name it: as it was written.
    pub fn written<'w>(word: &'w str, value: Option<&str>) -> &'w str {
        let end = word.len() - value.map_or(0, str::len);
        word[..end].trim_end_matches('=')
    }
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
pub fn name(text: &str) -> Result<(), String> {
    /// Criterion and the records add to it, and a file system ends at 255.
    const LONGEST: usize = 100;
    let is_folder = |text: &str| !text.starts_with('.') && !text.contains(['/', '\\']);
    match text.len() {
        1..=LONGEST if is_folder(text) && !text.contains(char::is_control) => Ok(()),
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
pub fn saved_name(text: &str) -> Result<(), String> {
    const TAKEN: [&str; 6] = ["new", "change", "report", "runs", "profiles", "lock"];
    const FILES: [&str; 6] = ["json", "jsonl", "lock", "html", "txt", "running"];
    name(text)?;
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
        _ => Ok(()),
    }
}

/// The filter that selects an id in which `filter` literally stands, if it is not that filter itself: in an expression, `+`
/// and others mean something else.
pub fn escaped_filter(filter: &str, ids: &[impl AsRef<str>]) -> Option<String> {
    let mut escaped = String::new();
    for character in filter.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    let stands = || ids.iter().any(|id| id.as_ref().contains(filter));
    (escaped != filter && stands()).then_some(escaped)
}

/// The value of a flag among words: joined to it or the next word, empty where it has none.
pub fn value<'w>(words: impl IntoIterator<Item = &'w str>, name: &str) -> Option<&'w str> {
    let mut words = words.into_iter();
    let joined = words.find_map(|word| {
        Flag::of(word).filter(|(flag, _)| flag.name == name).map(|(_, value)| value)
    })?;
    Some(joined.or_else(|| words.next()).unwrap_or_default())
}

/// The filter among arguments, and whether it is a whole id.
pub fn filter(arguments: &[String]) -> Option<(&str, bool)> {
    let mut words = arguments.iter().map(String::as_str);
    let (mut filter, mut exact) = (None, false);
    while let Some(word) = words.next() {
        match Flag::of(word) {
            _ if word == "--" => filter = filter.or(words.next()),
            Some((flag, None)) if flag.value.is_some_and(Value::may_be_apart) => {
                let _value = words.next();
            }
            Some((flag, _)) => exact |= flag.name == "exact",
            None if word.starts_with('-') => {}
            None => filter = filter.or(Some(word)),
        }
    }
    Some((filter?, exact))
}

#[cfg(test)]
#[path = "flag_tests.rs"]
mod tests;
