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
        // Criterion compares with one name, which is replaced, needed, or only looked at.
        let needs = args.needs;
        let beside = needs.beside.as_deref();
        let names = [saved_as, needs.baseline.as_deref(), beside];
        assert_eq!(names.iter().flatten().count(), 1, "{line}: {names:?}");
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
fn a_filter_that_selects_nothing_says_so_and_how_a_part_of_an_id_is_written() {
    let ids = ["a/int8wo+packed/b".to_owned(), "a/int8wo/b".to_owned()];
    for (line, said) in [
        ("int8wo.packed", None),
        (
            "int8wo+packed",
            Some(
                r"the filter int8wo+packed selects none of 2 cases; as a regular expression, that text is 'int8wo\+packed'",
            ),
        ),
        ("int4wo", Some("the filter int4wo selects none of 2 cases; `--list` shows them")),
        (
            "--exact int8wo+packed",
            Some("the filter int8wo+packed selects none of 2 cases; `--list` shows them"),
        ),
        (
            "--profile=o+p",
            Some(
                r"--profile o+p selects none of 2 cases; as a regular expression, that text is 'o\+p'",
            ),
        ),
    ] {
        assert_eq!(read(line).unmatched(&ids), Vec::from_iter(said), "{line}");
        assert!(read(line).unmatched(&[]).is_empty(), "{line}: a part may be empty");
    }
}

#[test]
fn an_unknown_flag_is_an_error_and_ours_is_none() {
    let error = Args::read(["bench", "--wiat"].map(str::to_owned)).unwrap_err();
    assert!(error.contains("'--wiat'") && error.contains("'--wait'"), "{error}");
    assert!(read("--bench --wait").flags.wait);
    assert!(!read("--bench").flags.wait);
}

#[test]
fn a_budget_is_a_time_with_its_unit() {
    assert_eq!(read("--bench --budget 10min int8wo").flags.budget, Some(600.0));
    assert_eq!(read("--bench").flags.budget, None);
    let error = Args::read(["bench", "--budget", "10"].map(str::to_owned)).unwrap_err();
    assert!(error.contains("such as 90s, 10min or 2h"), "{error}");
}

#[test]
fn a_part_is_asked_for_or_there_is_none() {
    let part = |line: &str| read(line).part.map(|part| part.shard);
    assert_eq!(part("--bench int8wo"), None);
    let shard = |partition| RunShard { index: 3, count: 16, partition, from: "flag".to_owned() };
    assert_eq!(part("--shard 3/16 --bench"), Some(shard(Partition::Balanced)));
    assert_eq!(part("--bench --partition hash --shard=3/16"), Some(shard(Partition::Hash)));
    assert!(read("--bench --shard 1/2").is_repeated() && !read("--bench").is_repeated());
    let error = Args::read(["bench", "--partition", "hash"].map(str::to_owned)).unwrap_err();
    assert!(error.contains("--shard 1/4"), "{error}");
}

#[test]
fn what_is_kept_under_no_name_cannot_be_resumed() {
    for line in ["--bench --resume", "--bench --resume -s main", "--resume --list"] {
        assert!(read(line).flags.resume, "{line}");
    }
    for option in ["--baseline", "--baseline-lenient", "--load-baseline", "--discard-baseline"] {
        let name = (option != "--discard-baseline").then_some("main");
        let words = ["bench", "--bench", "--resume", option].into_iter().chain(name);
        let error = Args::read(words.map(str::to_owned)).unwrap_err();
        assert!(error.contains("--resume") && error.contains("omit"), "{option}: {error}");
    }
}

#[test]
fn cases_to_profile_are_chosen_by_an_expression() {
    assert!(read("--bench").profiles.is_none());
    let all = read("--bench --profile").profiles.expect("asked for");
    assert!(all.is_match("a/b/c"));
    let some = read("--bench --profile=/int8wo/").profiles.expect("asked for");
    assert!(some.is_match("a/int8wo/b") && !some.is_match("a/int8dq/b"));
    let error = Args::read(["bench", "--profile=("].map(str::to_owned)).unwrap_err();
    assert!(
        error.starts_with("invalid value '(' for '--profile[=<FILTER>]': not a regular expression"),
        "{error}"
    );
}

#[test]
fn a_filter_that_is_no_expression_is_an_error_with_a_remedy() {
    let error = Args::read(["bench", "--bench", "("].map(str::to_owned)).unwrap_err();
    assert!(error.contains("`(`") && error.contains("--exact"), "{error}");
}
