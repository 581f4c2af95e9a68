use super::*;

#[test]
fn a_value_is_joined_or_apart() {
    for (line, expected) in [
        ("int8wo", None),
        ("--quick -s main", Some("main")),
        ("--save-baseline=main -s other", Some("main")),
        ("-smain", Some("main")),
        ("--save-baseline", Some("")),
    ] {
        assert_eq!(value(line.split(' '), "save-baseline"), expected, "{line}");
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
        let (flag, found) = Flag::of(word).expect(word);
        assert_eq!((flag.name, found, Flag::written(word, found)), (name, value, written));
    }
    for word in ["int8wo", "--", "-", "--wiat", "-x", "a=b"] {
        assert!(Flag::of(word).is_none(), "{word}");
    }
}

#[test]
fn a_name_to_save_under_is_nobody_elses() {
    for text in ["main", "pr-12_a.b", "v1.2", "main@3", "a@x", "newer", "a b"] {
        assert_eq!(saved_name(text), Ok(()), "{text}");
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
    assert_eq!((name("new"), name("new@1")), (Ok(()), Ok(())), "they can be compared with");
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
fn names_and_letters_are_unique() {
    let names = FLAGS.iter().flat_map(|it| [Some(it.name), it.alias]).flatten();
    let letters: Vec<String> = FLAGS.iter().filter_map(|it| it.short).map(String::from).collect();
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
        ("--bench --profile sort", Some(("sort", false))),
        ("--shard 3/16 --resume sort --bench", Some(("sort", false))),
        ("--shard=auto --partition hash --bench", None),
        ("--profile=gelu --bench", None),
        ("--exact sort --color never", Some(("sort", true))),
        ("--bench -- --list", Some(("--list", false))),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(filter(&words), expected, "{line}");
    }
}
