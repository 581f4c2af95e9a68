//! The command line of `cargo bench --bench self_test`, how it prints a finding, and how its checks of a
//! GPU judge what they measured.
#![allow(dead_code, reason = "what needs a device is called where there is one")]

#[path = "../../benches/self_test/check.rs"]
mod check;
#[path = "../../benches/self_test/child.rs"]
mod child;
#[path = "../../benches/self_test/gpu/mod.rs"]
mod gpu;
#[path = "../common/help.rs"]
mod help;
#[path = "../../benches/self_test/options.rs"]
mod options;
#[path = "../common/skip.rs"]
mod skip;

mod board;
mod judged;

use std::process::Output;

use criterion_torch::device::resolve;
use criterion_torch::refusal::Refusal;

use check::{Finding, Format};
use clap::{CommandFactory, Parser};
use options::Options;

fn read(line: &str) -> Result<Options, clap::Error> {
    Options::try_parse_from(std::iter::once("self_test").chain(line.split_whitespace()))
}

#[test]
fn help_fits_on_a_screen_and_its_examples_are_understood() {
    for example in help::examples(Options::command(), help::COLUMNS, str::to_owned) {
        let line = example.strip_prefix("cargo bench --bench self_test").expect("this target");
        let line = line.trim_start().strip_prefix("-- ").unwrap_or_default();
        read(line.split("  ").next().expect("text before the remark")).expect(line);
    }
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
    assert_eq!(read("--bench").expect("a valid line").format, Format::Text);
    for json in ["--format json --bench", "known --format=json --bench"] {
        assert_eq!(read(json).expect(json).format, Format::Json, "{json}");
    }
    for (line, why) in [
        ("--format yaml", "[possible values: text, json]"),
        ("--format", "a value is required for '--format <FORMAT>'"),
        ("--json", "unexpected argument '--json'"),
        ("torchao", "<CONFIG>"),
        ("torchao a.yml b.yml", "unexpected argument 'b.yml'"),
        ("torchao a.yml --filter (", "invalid value '('"),
        ("--list torchao a.yml", "cannot be used with"),
    ] {
        let error = read(line).expect_err(line).to_string();
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn torchao_is_a_command_and_no_check() {
    let options = read("torchao a.yml --filter -x --bench").expect("a valid line");
    let Some(options::Command::Torchao(torchao)) = options.command else { panic!("{options:?}") };
    assert_eq!(torchao.config, std::path::Path::new("a.yml"));
    assert_eq!(torchao.filter.map(|it| it.to_string()).as_deref(), Some("-x"));
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

#[test]
fn without_a_device_each_check_of_one_is_skipped_once_with_the_reason() {
    let Err(refusal) = resolve(plan::Device::Cuda) else {
        return skip::hardware("there is a CUDA device");
    };
    let Refusal::Skipped(reason) = refusal else { panic!("{refusal}") };
    for check in gpu::CHECKS {
        let findings = check.findings();
        let [finding] = &findings[..] else { panic!("{}: {findings:?}", check.name) };
        let line = finding.line(check.name, Format::Text);
        assert!(line.starts_with("  skipped  ") && line.ends_with(&reason), "{line}");
    }
}

/// As a process that printed these lines and ended with this status.
#[cfg(unix)]
fn ended(stdout: &str, status: i32) -> Output {
    use std::os::unix::process::ExitStatusExt;
    let status = std::process::ExitStatus::from_raw(status);
    Output { status, stdout: stdout.into(), stderr: "why\n".into() }
}

#[test]
#[cfg(unix)]
fn a_part_reports_its_findings_and_how_it_ended() {
    let line = Finding::new("a", "b", "c", true).line("", Format::Json);
    let failures = |stdout: &str, status| {
        let findings = gpu::reported("part", &ended(stdout, status));
        (findings.len(), findings.iter().filter(|it| it.is_failure()).count())
    };
    assert_eq!(failures(&line, 0), (1, 0));
    // Signal 6.
    assert_eq!(failures(&line, 6), (2, 1));
    assert_eq!(failures("", 0), (1, 1), "it found nothing");
    assert_eq!(failures("no JSON", 0), (1, 1));
}
