//! `--judged`: what the judges of kernels found, as a table that can be published.

use indexmap::IndexMap;
use plan::{CheckStatus, Judged, Outcome};

use super::environment;
use crate::read::Report;
use crate::render::markdown::{and_more, code, list, or_absent, plain, reason, table};
use crate::render::table::Align;
use crate::render::units;
use crate::views::kernels::KernelResult;
use crate::views::view::{Column, left, markdown_rows, right};
use crate::visible;

/// Findings that are listed.
const FINDINGS: usize = 30;
/// Seeds of a case that are listed.
const SEEDS: usize = 12;

const JUDGED: &str = "judged";
const FAILED: &str = "failed";
const UNJUDGED: &str = "not judged";

const MEANING: &str = "`Judge` is the median time of a call in batches by the judge's clock, \
                       `Criterion` that of a step in the kernel's own process. The speed-up is over \
                       the baseline of the folder by the judge's clock, without an interval.";

/// The table, and below it what did not pass, the checks, the seeds and the machine.
pub fn judged(report: &Report, results: &[KernelResult<'_>]) -> String {
    let ran: Vec<&KernelResult<'_>> = results.iter().filter(|it| has_run(it)).collect();
    let verdicts: Vec<&str> = ran.iter().map(|it| verdict(it).0).collect();
    let count = |word: &str| verdicts.iter().filter(|it| **it == word).count();
    let mut counts = [JUDGED, FAILED, UNJUDGED].map(|it| format!("{} {it}", count(it))).to_vec();
    if ran.len() < results.len() {
        counts.push(format!("{} not run here", results.len() - ran.len()));
    }
    let mut out = format!(
        "# Judged kernels\n\n{}: {}.\n\n{}\n{MEANING}\n",
        units::count(results.len(), "case"),
        counts.join(", "),
        markdown_rows(&columns(), &ran)
    );
    for (title, text) in [
        ("Not passed", findings(results)),
        ("Not run here", not_run(results)),
        ("Checks", checks()),
        ("Seeds", seeds(results)),
        ("Environment", environment(report, results)),
    ] {
        if !text.is_empty() {
            out.push_str(&format!("\n## {title}\n\n{}\n", text.trim_end()));
        }
    }
    visible::lines(&out).into_owned()
}

/// How a case stands, and which checks failed or why it is not judged.
fn verdict(result: &KernelResult<'_>) -> (&'static str, Option<String>) {
    let failed: Vec<&str> =
        result.judged().into_iter().flat_map(Judged::failed).map(|it| &*it.name).collect();
    if !failed.is_empty() {
        return (FAILED, Some(failed.join(", ")));
    }
    match result.record().map(|record| &record.outcome) {
        Some(Outcome::Measured) if result.judged().is_some() => (JUDGED, None),
        Some(Outcome::Measured) => {
            let why = result.entry.and_then(|entry| entry.row.not_judged());
            (UNJUDGED, why.map(str::to_owned))
        }
        _ => {
            let why = result.point.reason.as_deref().unwrap_or_default();
            (UNJUDGED, Some(format!("{}: {why}", result.point.status)))
        }
    }
}

/// Whether there was something to judge.
fn has_run(result: &KernelResult<'_>) -> bool {
    result.point.is_measured() || verdict(result).0 != UNJUDGED
}

/// A line for each kernel that was measured and not judged; one for all where no kernel was judged.
pub fn unjudged(results: &[KernelResult<'_>]) -> Vec<String> {
    let verdicts = results.iter().map(|result| (result, verdict(result)));
    let (mut lines, mut is_any_judged) = (Vec::new(), false);
    for (result, (word, why)) in verdicts {
        is_any_judged |= word != UNJUDGED;
        if word == UNJUDGED && result.point.is_measured() {
            lines.push(format!("{}: not judged: {}", result.full_id, why.unwrap_or_default()));
        }
    }
    if lines.is_empty() && !is_any_judged {
        lines.push("no kernel was judged".to_owned());
    }
    lines
}

fn columns<'a>() -> [Column<&'a KernelResult<'a>>; 8] {
    [
        left("Case", |it| code(it.full_id).into()),
        left("Verdict", |it| {
            let (word, why) = verdict(it);
            why.map_or_else(|| word.to_owned(), |why| format!("{word}: {}", reason(&why))).into()
        }),
        right("Judge", |it| {
            let ns = it.entry.and_then(|entry| entry.row.judged_ns());
            or_absent(ns.map(units::time)).into()
        }),
        right("Criterion", |it| or_absent(it.time().map(|it| units::time(it.median_ns))).into()),
        right("Speed-up", |it| {
            or_absent(it.judged_speedup().map(|ratio| units::ratio(ratio, None))).into()
        }),
        right("Calls", |it| or_absent(it.judged().map(|it| it.calls.to_string())).into()),
        right("Compared", |it| or_absent(it.judged().map(|it| it.compared.to_string())).into()),
        right("Passed", |it| {
            let passed = |it: &Judged| {
                let passed = it.checks.iter().filter(|it| it.status == CheckStatus::Passed);
                format!("{} of {}", passed.count(), it.checks.len())
            };
            or_absent(it.judged().map(passed)).into()
        }),
    ]
}

/// The checks that did not pass, with their evidence.
fn findings(results: &[KernelResult<'_>]) -> String {
    by_text(results.iter().flat_map(|result| {
        let checks = result.judged().map(|it| &*it.checks).unwrap_or_default();
        let checks = checks.iter().filter(|check| check.status != CheckStatus::Passed);
        checks.map(|it| (format!("{}, {}: {}", it.name, it.status, it.value), result.full_id))
    }))
}

/// The cases that this machine had nothing to judge of, and why.
fn not_run(results: &[KernelResult<'_>]) -> String {
    let results = results.iter().filter(|it| !has_run(it));
    by_text(results.map(|it| (verdict(it).1.unwrap_or_default(), it.full_id)))
}

/// A line for each text, with the cases that share it.
fn by_text<'a>(texts: impl Iterator<Item = (String, &'a str)>) -> String {
    let mut found: IndexMap<String, Vec<&str>> = IndexMap::new();
    for (text, id) in texts {
        found.entry(text).or_default().push(id);
    }
    let lines = found.iter().map(|(text, ids)| {
        format!("{}{}: {}", code(ids[0]), and_more(ids.len() - 1), reason(text))
    });
    list(lines, FINDINGS, "`summary.json`")
}

fn checks() -> String {
    let rows = Judged::CHECKS.map(|(name, asks)| vec![code(name), plain(asks)]);
    table(&[("Check", Align::Left), ("Question", Align::Left)], &rows)
}

/// The seeds that the inputs of each case were drawn from, in their order.
fn seeds(results: &[KernelResult<'_>]) -> String {
    let judged = results.iter().filter_map(|it| Some((it.full_id, &it.judged()?.seeds)));
    let rows = judged.filter(|(_, seeds)| !seeds.is_empty()).map(|(id, seeds)| {
        let shown: Vec<String> = seeds.iter().take(SEEDS).map(i64::to_string).collect();
        let more = and_more(seeds.len() - shown.len());
        vec![code(id), format!("{}{more}", shown.join(", "))]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    table(&[("Case", Align::Left), ("Seeds, all in `summary.json`", Align::Left)], &rows)
}
