use super::*;

#[path = "../../../tests/common/help.rs"]
mod help;

#[test]
fn a_value_is_joined_or_apart() {
    for (line, expected) in [
        ("int8wo", None),
        ("--quick -s main", Some("main")),
        ("--save-baseline=main -s other", Some("main")),
        ("-smain", Some("main")),
        ("--save-baseline", Some("")),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(value(&words, "save-baseline"), expected, "{line}");
    }
}

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
        let words = [word];
        let found = super::words(&words).next().expect("a word");
        assert!(found.is(name), "{word}");
        assert_eq!((found.joined, found.written), (value, written));
    }
    for word in ["int8wo", "--", "-", "--wiat", "-x", "a=b"] {
        assert!(words(&[word]).all(|it| it.option.is_none() && it.written == word), "{word}");
    }
}

#[test]
fn a_name_to_save_under_is_nobody_elses() {
    for text in ["main", "pr-12_a.b", "v1.2", "main@3", "a@x", "newer", "a b"] {
        assert_eq!(saved_name(text).as_deref(), Ok(text), "{text}");
    }
    let long = "a".repeat(101);
    for (text, why) in [
        ("", "name of a folder"),
        ("a\nb", "name of a folder"),
        ("..", "name of a folder"),
        (&long, "has 101 bytes; use 100 at most"),
        ("new", "`new` is reserved"),
        ("new@1", "`new` is reserved"),
        ("Runs@12", "`runs` is reserved"),
        ("noise.json", "does not end in `.json`"),
        ("launches.lock", "does not end in `.lock`"),
        ("report.html", "does not end in `.html`"),
    ] {
        let error = saved_name(text).expect_err(text);
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(name("new").is_ok() && name("new@1").is_ok(), "they can be compared with");
}

#[test]
fn a_part_of_an_id_is_escaped_where_it_means_something_else() {
    let escaped = |filter| escaped_filter(filter, &["a/int8wo+packed/b.c"]);
    assert_eq!(escaped("int8wo+packed").as_deref(), Some(r"int8wo\+packed"));
    assert_eq!(escaped("b.c").as_deref(), Some(r"b\.c"));
    assert_eq!(escaped("int8wo"), None, "it selects the id as it is");
    assert_eq!(escaped("int4wo+packed"), None, "no id has it");
}

#[test]
fn a_duration_has_its_unit() {
    for (text, seconds) in [("90s", 90.0), ("10min", 600.0), ("1.5h", 5400.0), ("2 min", 120.0)] {
        assert_eq!(duration(text), Ok(seconds), "{text}");
    }
    for text in ["10", "min", "-1s", "0.5s", "1e9h", "NaNs", "10m"] {
        assert!(duration(text).unwrap_err().contains("10min"), "{text}");
    }
}

#[test]
fn the_command_line_is_sound() {
    BenchFlags::command().debug_assert();
}

#[test]
fn flags_of_ours_and_those_with_an_effect_on_results_are_there() {
    for name in OURS {
        assert!(words(&[format!("--{name}")]).all(|it| it.is_ours()), "{name}");
    }
    for (line, results) in [
        ("--list", Results::None),
        ("-h", Results::None),
        ("--profile-time=2", Results::Dropped),
        ("-bmain", Results::Unnamed),
        ("-s", Results::Kept),
        ("list", Results::Kept),
    ] {
        assert!(words(&[line]).all(|it| it.results() == results), "{line}");
    }
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
        ("--bench --profile sort", Some(("sort", false))),
        ("--shard 3/16 --resume sort --bench", Some(("sort", false))),
        ("--shard=auto --partition hash --bench", None),
        ("--profile=gelu --bench", None),
        ("--exact sort --color never", Some(("sort", true))),
        ("--bench -- --list", Some(("--list", false))),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let found = filter(&words).map(|(filter, exact)| (*filter, exact));
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn help_fits_on_a_screen_and_its_example_is_understood() {
    for example in help::examples(BenchFlags::command(), help::COLUMNS, str::to_owned) {
        let line = example.strip_prefix("cargo bench --bench inference").expect("a bench target");
        BenchFlags::read(line.split_whitespace().map(str::to_owned)).expect(line);
    }
}

/// Every flag with a value, and what is none of its values. Criterion would panic at many, and
/// accept some that no run could be made with.
#[test]
fn a_bad_value_is_told_with_its_flag() {
    let seconds = ["0", "-1", "nan", "inf", "-inf", "1e30", "1e-30", "86401", "abc", "", "--quick"];
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
        ("--shard", &["", "3", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/2/3", "auto/0", "--quick"]),
    ] {
        for value in values {
            let words = ["bench", "--bench", flag, value].map(str::to_owned);
            let error = BenchFlags::read(words).expect_err(value);
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
        let text = BenchFlags::read(["bench", flag, value].map(str::to_owned)).expect_err(value);
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
        let flags = BenchFlags::read(words)?;
        let pattern = flags.profile;
        Ok::<_, String>((pattern, flags.filter))
    };
    let words = |pattern: Option<&str>, filter: Option<&str>| {
        Ok((pattern.map(str::to_owned), filter.map(str::to_owned)))
    };
    assert_eq!(profile("--bench sort"), words(None, Some("sort")));
    assert_eq!(profile("--profile sort"), words(Some(EVERY), Some("sort")));
    assert_eq!(profile("sort --profile=^a|b$"), words(Some("^a|b$"), Some("sort")));
}

#[test]
fn the_ends_of_the_ranges_are_inside() {
    for line in [
        "--measurement-time 0.000001 --warm-up-time 86400 --sample-size 10",
        "--profile-time 1 --nresamples 1 --noise-threshold 0",
        "--measurement-time 0.1 --confidence-level 0.9 --save-baseline pr-12_a.b",
    ] {
        let words = ["bench"].into_iter().chain(line.split(' ')).map(str::to_owned);
        BenchFlags::read(words).expect(line);
    }
}
