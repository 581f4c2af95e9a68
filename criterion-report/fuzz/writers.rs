//! A report in every format; JSON is parsed again, and what people read steers no terminal.
#![allow(dead_code, reason = "each target uses its own part of this module")]

use std::sync::LazyLock;

use clap::Parser;
use criterion_report::views::kernels::KernelResult;
use criterion_report::read::{Inputs, Report, Selection};
use criterion_report::views::written::Target;
use criterion_report::views::kernels::{text::Document, text::tree};
use criterion_report::cli::writer::Writer;

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    writer: Writer,
}

const LINES: &[&str] = &[
    "show",
    "show --details",
    "csv",
    "csv --layout v-final",
    "dashboard",
    "dashboard --jsonl",
    "dashboard --torchao-compat",
    "fusion",
    "fusion --format json",
    "operators",
    "operators --format json",
    "export json",
    "export jsonl",
    "export markdown",
    "export bmf",
    "export critcmp",
];

const FOR_PEOPLE: &[&str] = &["show", "fusion", "operators", "export markdown"];

static WRITERS: LazyLock<Vec<(&str, Writer)>> = LazyLock::new(|| {
    LINES.iter().map(|line| (*line, parse(&line.split(' ').collect::<Vec<_>>()))).collect()
});

fn parse(words: &[&str]) -> Writer {
    Line::parse_from(["criterion-report"].iter().chain(words)).writer
}

/// The output of one writer.
pub fn one(words: &[&str], report: &Report) -> anyhow::Result<Vec<u8>> {
    let target = Target { colour_terminal: true, width: None, file: None };
    let mut out = Vec::new();
    parse(words).write(report, target, &mut out)?;
    Ok(out)
}

/// A writer may refuse a report, and must not panic.
pub fn all(inputs: Inputs) {
    let report = Report::new(inputs, "new", Selection::default());
    for (line, writer) in WRITERS.iter() {
        for width in [None, Some(60)] {
            let target = Target { colour_terminal: true, width, file: None };
            let mut out = Vec::new();
            if writer.write(&report, target, &mut out).is_ok() {
                let text = String::from_utf8(out).expect("text");
                let for_people = FOR_PEOPLE.iter().any(|begin| line.starts_with(begin));
                // Our own colours begin with an escape.
                let steers = |c: char| c.is_control() && !['\n', '\t', '\x1b'].contains(&c);
                assert!(
                    !(for_people && !line.ends_with("json") && text.contains(steers)),
                    "{line}"
                );
                let is_json = line.ends_with("json") || line.starts_with("dashboard");
                if is_json && *line != "dashboard --jsonl" {
                    serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
                }
            }
        }
    }
    report.unmeasured();
    let results = KernelResult::all(&report);
    if !results.is_empty() {
        let document = Document { report: &report, results: &results, changes: None, trends: None };
        drop(tree(&document));
    }
}
