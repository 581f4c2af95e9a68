//! The command line of `cargo bench --bench self_test`, and how it prints a finding.
#![allow(dead_code, reason = "what measures is not called here")]

#[path = "../benches/self_test/check.rs"]
mod check;
#[path = "../benches/self_test/options.rs"]
mod options;

use check::{Finding, Format};
use options::Options;

fn read(line: &str) -> Result<Options, String> {
    Options::read(line.split_whitespace().map(str::to_owned))
}

#[test]
fn a_name_selects_by_its_part_and_exactly_when_asked() {
    let selected = |line: &str| {
        let options = read(line).expect("a valid line");
        let names = ["device", "device-memory", "known"].into_iter();
        names.filter(|name| options.selects(name)).collect::<Vec<_>>()
    };
    assert_eq!(selected("--bench"), ["device", "device-memory", "known"]);
    assert_eq!(selected("device --bench"), ["device", "device-memory"]);
    assert_eq!(selected("device --exact --bench"), ["device"]);
    assert_eq!(selected("--exact dev --bench"), [""; 0]);
}

#[test]
fn text_is_the_default_and_other_formats_are_refused() {
    assert_eq!(read("--bench").map(|it| it.format), Ok(Format::Text));
    for json in ["--format json --bench", "known --format=json --bench"] {
        assert_eq!(read(json).map(|it| it.format), Ok(Format::Json), "{json}");
    }
    let refused = "unknown format `yaml`; `--format` takes `text` or `json`";
    assert_eq!(read("--format yaml"), Err(refused.to_owned()));
    assert_eq!(read("--format"), Err("`--format` needs `text` or `json`".to_owned()));
    assert!(read("--json").is_err_and(|error| error.starts_with("unknown flag `--json`; ")));
}

#[test]
fn a_finding_is_one_line_in_either_format() {
    let failed = Finding::new("a \"copy\"", "2 ms", "at most\n1 ms", false);
    let passed = Finding::new("a copy", "1 ms", "at most 1 ms", true);
    let skipped = Finding::skipped("a copy", "no CUDA device");
    assert_eq!(
        passed.line("known", Format::Text),
        "  passed   a copy: 1 ms; expected at most 1 ms"
    );
    assert_eq!(skipped.line("known", Format::Text), "  skipped  a copy: no CUDA device");
    assert_eq!(
        failed.line("known", Format::Json),
        r#"{"check":"known","name":"a \"copy\"","measured":"2 ms","expected":"at most\n1 ms","verdict":"failed"}"#
    );
    assert_eq!(
        skipped.line("known", Format::Json),
        r#"{"check":"known","name":"a copy","measured":"no CUDA device","expected":"","verdict":"skipped"}"#
    );
    let verdict = passed.line("known", Format::Json);
    assert!(verdict.ends_with(r#""verdict":"passed"}"#), "{verdict}");
}
