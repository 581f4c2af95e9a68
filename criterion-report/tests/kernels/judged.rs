//! The findings of judges: a table that can be published, and the marks of kernels without any.

use plan::{Check, CheckStatus, Judged};

use super::*;

/// The findings on a kernel that passes all checks but `threads`, which could not be asked.
fn judged(ns: impl Into<Option<f64>>) -> Judged {
    let check = |(name, _)| match name {
        "threads" => Check::skipped(name, "/proc cannot be read"),
        _ => Check::passed(name, "as it should be"),
    };
    let checks = Judged::CHECKS.map(check).to_vec();
    Judged { ns: ns.into(), calls: 640, compared: 24, seeds: (1001..1025).collect(), checks }
}

const EVIDENCE: &str = "call 17 of seed 1003 gave 0.25 where the reference has 0.75";

/// Kernels that passed and failed, one that nobody judged, one of an older version and one that did not run.
fn cases() -> Fixture {
    let error = format!("judge: output: {EVIDENCE}");
    let skipped = Outcome::Skipped { reason: "this machine has no CUDA device".to_owned() };
    Fixture::of_kernels(&[
        Make("gemv", "kernel", Float32, Cpu, 300_000),
        Make("gemv", "blocked", Float32, Cpu, 150_000),
        Make("gemv", "remembers", Float32, Cpu, 200),
        Make("scan", "kernel", Float32, Cpu, 50_000),
        Make("sort", "kernel", Float32, Cpu, 60_000),
        Make("sort", "kernel", Float32, Cuda, 60_000),
    ])
    .edit("gemv/cpu/kernel", |it| it.record.judged = Some(judged(310_000.0)))
    .edit("gemv/cpu/blocked", |it| it.record.judged = Some(judged(155_000.0)))
    .edit("remembers", |it| {
        let mut of = judged(None);
        let remedy = "compute it at each call";
        of.checks[0] = Check::graded("output", CheckStatus::Failed, EVIDENCE, remedy);
        of.seeds.truncate(3);
        it.record.judged = Some(of);
    })
    .end("remembers", &Outcome::Failed { error })
    .edit("scan", |it| {
        it.record.measures.absent.insert("judged".to_owned(), "`judge: off`".to_owned());
    })
    .end("sort/cuda", &skipped)
}

fn printed(fixture: &Fixture, args: &[&str]) -> String {
    let folder = Folder::with(fixture);
    let output = folder.run(&[&["--judged"], args].concat());
    assert_eq!((output.status.code(), err(&output)), (Some(0), ""));
    assert!(!folder.path("reports").exists(), "only the table is printed");
    stdout(&output).to_owned()
}

#[test]
fn the_table_says_who_is_judged_and_how() {
    insta::assert_snapshot!("judged", printed(&cases(), &[]));
    let folder = Folder::with(&cases());
    let output = folder.run(&["--judged", "--filter", "gemv", "--output", "judged.md"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), ""), "{}", err(&output));
    assert_eq!(folder.text("judged.md"), printed(&cases(), &["--filter", "gemv"]));
}

#[test]
fn a_failed_kernel_fails_the_gate_and_the_folder_has_options_of_its_own() {
    let folder = Folder::with(&cases());
    let output = folder.run(&["--judged", "--fail-on", "failure"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("gemv/cpu/remembers"), "{}", err(&output));
    assert!(err(&output).contains("not judged: `judge: off`"), "{}", err(&output));
    for other in [&["--output-dir", "x"], &["--compare-to", "new"], &["--history", "."]] {
        let output = folder.run(&[&["--judged"], &other[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{other:?}");
    }
}

#[test]
fn the_json_has_all_of_it() {
    let folder = Folder::with(&cases());
    folder.written(&[]);
    let summary = folder.json("reports/summary.json");
    #[cfg(feature = "schema")]
    common::assert_as_schema("kernels-v1", &summary);
    let of = |part: &str| {
        let all = summary["results"].as_array().expect("an array").iter();
        let mut found = all.filter(|it| it["full_id"].as_str().is_some_and(|id| id.contains(part)));
        found.next().cloned().expect(part)
    };
    let blocked = of("gemv/cpu/blocked");
    assert_eq!(blocked["judged"], serde_json::to_value(judged(155_000.0)).expect("JSON"));
    assert_eq!(blocked["judged_speedup"], 2.0);
    assert_eq!(of("gemv/cpu/kernel")["judged_speedup"], Value::Null);
    let failed = of("remembers");
    assert_eq!(failed["judged"]["checks"][0]["value"], EVIDENCE);
    assert_eq!(failed["judged_speedup"], Value::Null);
    assert_eq!(failed["error_message"], format!("judge: output: {EVIDENCE}"));
    let [scan, sort] = [of("scan"), of("sort/cpu")];
    assert_eq!(
        (&scan["judged"], &scan["absent"]["judged"]),
        (&Value::Null, &"`judge: off`".into())
    );
    assert_eq!(sort["absent"]["judged"], "its record is of a version without a judge");
}

#[test]
fn every_report_marks_what_is_not_judged() {
    let folder = Folder::with(&cases());
    folder.written(&[]);
    let summary = folder.text("reports/summary.md");
    assert!(summary.contains("\n1 case not judged: `judge: off`.\n"), "{summary}");
    let report = cases().kernels_report();
    let written = |command| common::write(&crate::export::writer(command), &report);
    let mark = "1 case not judged: `judge: off`";
    for command in ["summary", "summary --format markdown"] {
        let text = written(command);
        assert!(text.contains(mark), "{text}");
        assert!(text.contains(&format!("1 failed: judge: output: {EVIDENCE}")), "{text}");
    }
    let json: Value = serde_json::from_str(&written("summary --format json")).expect("JSON");
    assert_eq!(json["unjudged"].as_array().map(Vec::len), Some(2), "{}", json["unjudged"]);
    for command in ["show", "html"] {
        assert!(written(command).contains("not judged: `judge: off`"), "{command}");
    }
    let csv = written("csv --columns full-id,judged-time,cautions");
    for line in [
        "kernels/default/gemv/cpu/blocked/f32-4096,0.155,",
        "kernels/default/gemv/cpu/remembers/f32-4096,,",
        "kernels/default/scan/cpu/kernel/f32-4096,,not judged: `judge: off`\n",
    ] {
        assert!(csv.contains(line), "{csv}");
    }
    let shown = written("show --columns full-id,judged-time");
    assert!(shown.contains("155.0 µs"), "{shown}");
}

#[test]
fn a_hostile_record_breaks_no_line() {
    let hostile = format!("|\n# <b>@someone</b> {}", "x".repeat(100_000));
    let fixture = cases().edit("gemv/cpu/blocked", |it| {
        let mut of = judged(1e-18);
        (of.calls, of.compared) = (u64::MAX, u64::MAX);
        of.seeds = vec![i64::MIN; 10_000];
        of.checks = (0..200)
            .map(|i| Check::graded(&format!("{i}{hostile}"), CheckStatus::Failed, &*hostile, ""))
            .collect();
        it.record.judged = Some(of);
    });
    let text = printed(&fixture, &[]);
    let tidy = printed(&cases(), &[]);
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("| `kernels/")).count();
    assert_eq!(rows(&text), rows(&tidy), "{text}");
    assert!(!text.contains("<b>") && !text.contains("@s"), "{text}");
    assert!(text.contains(" and 9988 more") && text.contains("more, in `summary.json`"), "{text}");
    assert!(text.len() < 30_000, "{}", text.len());
}
