//! The page of a comparison: each case with its interval beside the threshold, the worst first.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::template::{escape, fill, json};
use crate::compare::{Comparison, Difference, Verdict};
use crate::views::compare::text;

const PAGE: &str =
    concat!(include_str!("head.html"), include_str!("comparison.html"), include_str!("foot.html"));
const STYLES: [&str; 3] =
    [include_str!("theme.css"), include_str!("page.css"), include_str!("comparison.css")];
const SCRIPTS: [&str; 3] =
    [include_str!("dom.js"), include_str!("scale.js"), include_str!("comparison.js")];

/// Everything that the page's script lays out.
#[derive(Serialize)]
struct Data<'a> {
    /// Relative difference of a time that matters.
    threshold: f64,
    groups: Vec<Group<'a>>,
}

/// The differences of one verdict, the largest first.
#[derive(Serialize)]
struct Group<'a> {
    verdict: &'static str,
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    measure: &'static str,
    /// The values of A and B, and B over A with its interval, as all texts have them.
    a: String,
    b: String,
    text: String,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    reason: &'a str,
}

impl<'a> Row<'a> {
    fn new(Difference { full_id, finding }: Difference<'a>) -> Self {
        let interval = finding.interval();
        Self {
            id: full_id,
            measure: finding.measure.word(),
            a: text::value(finding.measure, finding.a),
            b: text::value(finding.measure, finding.b),
            text: text::ratio(finding),
            ratio: finding.ratio.filter(|ratio| ratio.is_finite()),
            low: interval.map(|it| it.low),
            high: interval.map(|it| it.high),
            reason: &finding.reason,
        }
    }
}

/// Writes the page, but not to a terminal.
pub fn write(comparison: &Comparison, is_terminal: bool, out: &mut dyn Write) -> Result<()> {
    super::refuse_terminal(is_terminal)?;
    let group = |verdict: &Verdict| Group {
        verdict: verdict.word(),
        rows: comparison.differences(*verdict).into_iter().map(Row::new).collect(),
    };
    let groups = Verdict::ALL.iter().map(group).filter(|it| !it.rows.is_empty()).collect();
    let threshold = comparison.thresholds.limits.latency;
    let title = format!("{} against {}", comparison.b.name, comparison.a.name);
    let parts = [
        ("title", escape(&title)),
        ("a", escape(&text::side(&comparison.a))),
        ("b", escape(&text::side(&comparison.b))),
        ("counts", escape(&text::counts(comparison))),
        ("style", STYLES.concat()),
        ("program", escape(concat!("criterion-report ", env!("CARGO_PKG_VERSION")))),
        ("data", json(&Data { threshold, groups })?),
        ("script", SCRIPTS.concat()),
    ];
    Ok(fill(PAGE, &parts, out)?)
}
