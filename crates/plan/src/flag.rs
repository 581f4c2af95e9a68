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
    /// What becomes of results.
    pub results: Results,
}

/// Values that criterion takes without a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A time.
    Seconds,
    /// A time of at least one second.
    WholeSeconds,
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
}

/// What an option does to a run's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// They are kept as without it.
    Kept,
    /// They are kept, but under no name.
    Unnamed,
    /// What is measured is not kept.
    Dropped,
    /// Nothing is measured.
    None,
}

const fn switch(name: &'static str) -> Flag {
    Flag { name, short: None, alias: None, value: None, results: Results::Kept }
}

const fn with(name: &'static str, value: Value) -> Flag {
    Flag { value: Some(value), ..switch(name) }
}

/// All options.
pub const FLAGS: &[Flag] = &[
    switch("exact"),
    switch("ignored"),
    Flag { results: Results::None, ..switch("list") },
    Flag { results: Results::None, ..switch("test") },
    switch("bench"),
    Flag { results: Results::Dropped, ..with("profile-time", Value::WholeSeconds) },
    Flag { short: Some('s'), ..with("save-baseline", Value::NewName) },
    Flag { short: Some('b'), results: Results::Unnamed, ..with("baseline", Value::Name) },
    Flag { results: Results::Unnamed, ..with("baseline-lenient", Value::Name) },
    Flag { results: Results::None, ..with("load-baseline", Value::Name) },
    Flag { results: Results::Dropped, ..switch("discard-baseline") },
    with("sample-size", Value::Samples),
    with("warm-up-time", Value::Seconds),
    with("measurement-time", Value::Seconds),
    switch("quick"),
    Flag {
        short: Some('c'),
        alias: Some("colour"),
        ..with("color", Value::Word(&["auto", "always", "never"]))
    },
    with("format", Value::Word(&["pretty", "terse"])),
    with("nresamples", Value::Resamples),
    with("noise-threshold", Value::Threshold),
    with("confidence-level", Value::Share),
    with("significance-level", Value::Share),
    with("plotting-backend", Value::Word(&["gnuplot", "plotters"])),
    with("output-format", Value::Word(&["criterion", "bencher"])),
    Flag { short: Some('v'), ..switch("verbose") },
    switch("quiet"),
    Flag { short: Some('n'), ..switch("noplot") },
    switch("nocapture"),
    switch("show-output"),
    switch("include-ignored"),
    Flag { short: Some('V'), ..switch("version") },
    Flag { short: Some('h'), results: Results::None, ..switch("help") },
    // Ours.
    switch("wait"),
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

/// The filter among arguments, and whether it is a whole id.
pub fn filter(arguments: &[String]) -> Option<(&str, bool)> {
    let mut words = arguments.iter().map(String::as_str);
    let (mut filter, mut exact) = (None, false);
    while let Some(word) = words.next() {
        match Flag::of(word) {
            _ if word == "--" => filter = filter.or(words.next()),
            Some((flag, None)) if flag.value.is_some() => drop(words.next()),
            Some((flag, _)) => exact |= flag.name == "exact",
            None if word.starts_with('-') => {}
            None => filter = filter.or(Some(word)),
        }
    }
    Some((filter?, exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_an_option_with_or_without_its_value() {
        for (word, name, value, written) in [
            ("--save-baseline", "save-baseline", None, "--save-baseline"),
            ("--save-baseline=", "save-baseline", Some(""), "--save-baseline"),
            ("--save-baseline=a=b", "save-baseline", Some("a=b"), "--save-baseline"),
            ("--colour=never", "color", Some("never"), "--colour"),
            ("-s", "save-baseline", None, "-s"),
            ("-smain", "save-baseline", Some("main"), "-s"),
            ("-s=main", "save-baseline", Some("main"), "-s"),
        ] {
            let (flag, found) = Flag::of(word).expect(word);
            assert_eq!((flag.name, found, Flag::written(word, found)), (name, value, written));
        }
        for word in ["int8wo", "--", "-", "--wiat", "-x", "a=b"] {
            assert!(Flag::of(word).is_none(), "{word}");
        }
    }

    #[test]
    fn names_and_letters_are_unique() {
        let names = FLAGS.iter().flat_map(|it| [Some(it.name), it.alias]).flatten();
        let letters: Vec<String> =
            FLAGS.iter().filter_map(|it| it.short).map(String::from).collect();
        let mut all: Vec<&str> = names.chain(letters.iter().map(String::as_str)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn a_filter_is_what_belongs_to_no_option() {
        for (line, expected) in [
            ("--bench", None),
            ("--bench --save-baseline sort", None),
            ("--bench -s sort", None),
            ("--save-baseline=main --bench", None),
            ("sort --bench", Some(("sort", false))),
            ("--bench --sample-size 10 -V sort", Some(("sort", false))),
            ("--exact sort --color never", Some(("sort", true))),
            ("--bench -- --list", Some(("--list", false))),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(filter(&words), expected, "{line}");
        }
    }
}
