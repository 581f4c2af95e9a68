//! `regressions.json` and `regressions.md`: a comparison with an earlier time under the names of
//! QuASIM's tools.

use std::collections::BTreeMap;

use plan::JsonFloat;
use serde_json::{Value, json};

use crate::compare::{Comparison, Difference, Measure, Verdict};
use crate::model::Interval;
use crate::render::markdown::{and_more, code, or_absent, plain, reason, revision, table};
use crate::render::object::document;
use crate::render::table::Align;
use crate::render::units;
use crate::views::compare::text;
use crate::views::view::{Column, left, markdown_rows, right};
use crate::visible;

const LINES: usize = 20;
const ALL: &str = "`regressions.json`";

#[derive(Debug, Clone, Copy)]
pub struct Regressions<'a> {
    pub comparison: &'a Comparison,
    /// The place of the earlier results, if they are no saved ones.
    pub source: Option<&'a str>,
}

document! {
    /// The file `regressions.json`.
    pub struct Changes<'a> = of(it: &Regressions<'a>) [
        comparison = it.comparison;
        limits = comparison.thresholds.limits;
        changes = |verdict| it.of(verdict).iter().map(Change::of).collect();
        uncompared = |verdict| it.of(verdict).iter().map(Uncompared::of).collect();
    ] {
        version: u32 = 1,
        baseline: &'a str = &comparison.a.name,
        baseline_source: Option<&'a str> = it.source,
        baseline_revisions: &'a [String] = &comparison.a.revisions,
        latency_threshold: f64 = limits.latency,
        accuracy_threshold: f64 = limits.accuracy,
        unchanged: usize = comparison.unchanged(),
        regressions: Vec<Change<'a>> = changes(Verdict::Regressed),
        improvements: Vec<Change<'a>> = changes(Verdict::Improved),
        inconclusive: Vec<Change<'a>> = changes(Verdict::Inconclusive),
        new: Vec<Uncompared<'a>> = uncompared(Verdict::New),
        missing: Vec<Uncompared<'a>> = uncompared(Verdict::Missing),
        not_compared: Vec<Uncompared<'a>> = uncompared(Verdict::NotCompared),
    }

    /// A difference with its values.
    struct Change<'a> = of(of: &Difference<'a>) [
        finding = of.finding;
        (kind, measure, unit) = match finding.measure {
            Measure::Outcome => ("failure", finding.name, 1.0),
            Measure::Accuracy => ("accuracy", finding.name, 1.0),
            _ => ("latency", "median_ms", 1e6),
        };
        [before, after] = match &finding.ended {
            Some(ended) => ended.each_ref().map(|ended| json!(ended)),
            None => [finding.a, finding.b].map(|value| json!(value.map(|it| JsonFloat(it / unit)))),
        };
        error = || finding.a.zip(finding.b).map(|(before, now)| now - before);
        relative = finding.ratio.map(|ratio| ratio - 1.0);
    ] {
        full_id: &'a str = of.full_id,
        kind: &'static str = kind,
        measure: &'static str = measure,
        before: Value = before,
        after: Value = after,
        /// By how much it changed: relative to what a time was, absolute of an error.
        change: Option<f64> = relative.or_else(error).filter(|change| change.is_finite()),
        interval: Option<Bounds> =
            finding.interval().map(|it| Bounds::of(it, finding.confidence_level)),
    }

    /// Bounds of the change of a time, relative as the change itself.
    struct Bounds = of(interval: Interval, level: Option<f64>) {
        low: f64 = interval.low - 1.0,
        high: f64 = interval.high - 1.0,
        confidence_level: Option<f64> = level,
    }

    /// A case without a comparison, and why.
    struct Uncompared<'a> = of(of: &Difference<'a>) {
        full_id: &'a str = of.full_id,
        reason: &'a str = &of.finding.reason,
    }
}

impl<'a> Regressions<'a> {
    fn of(&self, verdict: Verdict) -> Vec<Difference<'a>> {
        self.comparison.differences(verdict)
    }

    /// `regressions.md`.
    pub fn file(&self) -> String {
        let text = format!("# Comparison with {}\n\n{}", self.baseline(), self.body("##"));
        visible::lines(&text).into_owned()
    }

    /// The part of `summary.md`.
    pub fn section(&self) -> String {
        format!("Compared with {}: {}", self.baseline(), self.body("###"))
    }

    fn baseline(&self) -> String {
        const MOST: usize = 3;
        let side = &self.comparison.a;
        let revisions: Vec<String> =
            side.revisions.iter().take(MOST).map(|it| revision(it)).collect();
        let more = and_more(side.revisions.len() - revisions.len());
        let of = if revisions.is_empty() {
            String::new()
        } else {
            format!(" (commit {}{more})", revisions.join(", "))
        };
        format!("{}{of}", code(&side.name))
    }

    /// Words are chosen so that a comparison without a finding names none.
    fn body(&self, level: &str) -> String {
        let mut out = self.totals();
        if let Some(source) = self.source {
            out.push_str(&format!("\nThe earlier results are {}.\n", plain(source)));
        }
        let inconclusive = self.of(Verdict::Inconclusive);
        let is_error = |it: &Difference<'_>| it.finding.measure == Measure::Accuracy;
        let disagree =
            if inconclusive.iter().any(is_error) { ", or runs disagree as much" } else { "" };
        let open =
            format!("Inconclusive: beyond the threshold, but the interval includes 1×{disagree}");
        let columns: [Column<Difference<'_>>; 5] = [
            left("Case", |it| code(it.full_id).into()),
            left("What", |it| it.finding.name.replace('_', " ").into()),
            right("Before", |it| value(it, 0).into()),
            right("After", |it| value(it, 1).into()),
            right("Change", |it| {
                or_absent(it.finding.ratio.map(|_| text::ratio(it.finding))).into()
            }),
        ];
        for (title, changes) in [
            ("Regressions", self.of(Verdict::Regressed)),
            ("Improvements", self.of(Verdict::Improved)),
            (&open, inconclusive),
        ] {
            let table = markdown_rows(&columns, changes.iter().take(LINES));
            out.push_str(&titled(level, title, table, changes.len()));
        }
        let columns: [Column<Difference<'_>>; 2] = [
            left("Case", |it| code(it.full_id).into()),
            left("Why", |it| reason(&it.finding.reason).into()),
        ];
        for (title, verdict) in [("New", Verdict::New), ("Missing", Verdict::Missing)] {
            let cases = self.of(verdict);
            let table = markdown_rows(&columns, cases.iter().take(LINES));
            out.push_str(&titled(level, title, table, cases.len()));
        }
        out.push_str(&not_compared(level, &self.of(Verdict::NotCompared)));
        out
    }

    fn totals(&self) -> String {
        let of = |verdict| self.of(verdict).len();
        let limits = self.comparison.thresholds.limits;
        format!(
            "{} worse, {} better, {} inconclusive, {} unchanged, {} new, {} missing, {} not \
             compared; thresholds: {} of the time, {} of the relative error.\n",
            of(Verdict::Regressed),
            of(Verdict::Improved),
            of(Verdict::Inconclusive),
            self.comparison.unchanged(),
            of(Verdict::New),
            of(Verdict::Missing),
            of(Verdict::NotCompared),
            units::percent(limits.latency),
            units::error(limits.accuracy),
        )
    }
}

fn titled(level: &str, title: &str, table: String, items: usize) -> String {
    if table.is_empty() {
        return table;
    }
    let more = items.saturating_sub(LINES);
    let more = if more > 0 { format!("\n{more} more in {ALL}.\n") } else { String::new() };
    format!("\n{level} {title}\n\n{table}{more}")
}

/// The value before, or after, with its unit.
fn value(Difference { finding, .. }: &Difference<'_>, side: usize) -> String {
    match &finding.ended {
        Some(ended) => reason(&ended[side]),
        None => text::value(finding.measure, [finding.a, finding.b][side]),
    }
}

/// How many cases give each reason: a whole machine's are one line.
fn not_compared(level: &str, cases: &[Difference<'_>]) -> String {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in cases {
        reasons.entry(&case.finding.reason).or_default().push(case.full_id);
    }
    let rows: Vec<Vec<String>> = reasons
        .iter()
        .take(LINES)
        .map(|(why, ids)| vec![ids.len().to_string(), code(ids[0]), reason(why)])
        .collect();
    let columns = [("Cases", Align::Right), ("First", Align::Left), ("Why", Align::Left)];
    titled(level, "Not compared", table(&columns, &rows), reasons.len())
}
