//! The remarks below the tables.

use std::collections::BTreeSet;

use plan::{Mode, Outcome};

use crate::order::Order as _;
use crate::read::Report;
use crate::render::table::{remarks, wrap};
use crate::render::units;
use crate::views::written::{earlier, foreign};

/// How the cases ended, and what the reader of the table must know besides.
pub fn footer(report: &Report, width: usize, colour: bool) -> String {
    let shown = report.entries().count();
    let mut outcomes = report.outcomes();
    // Measured cases come first.
    outcomes.order_by_key(|(status, _)| *status != Outcome::Measured.status());
    let outcomes: Vec<String> =
        outcomes.iter().map(|(status, cases)| format!("{cases} {status}")).collect();
    let mut out = units::count(shown, "case");
    if !outcomes.is_empty() {
        out.push_str(&format!(": {}", outcomes.join(", ")));
    }
    if shown < report.rows_read {
        out.push_str(&format!(" (of {} recorded)", report.rows_read));
    }
    out.push('\n');
    let measured = Outcome::Measured.status();
    let without = report
        .entries()
        .filter(|entry| entry.row.record.outcome.status() == measured && entry.row.time.is_err())
        .count();
    let mut notes = Vec::new();
    if without > 0 {
        notes.push(format!("{} measured without a usable estimate", units::count(without, "case")));
    }
    notes.extend(earlier(report));
    for missing in &report.missing {
        notes.push(format!("{}: {}", missing.full_id, missing.reason));
    }
    notes.extend(foreign(report));
    notes.extend(report.unreadable.iter().chain(&report.warnings).cloned());
    out.push_str(&remarks(&notes, width, colour));
    out
}

/// The columns that a terminal had no room for.
pub fn left_out(columns: &BTreeSet<&str>, width: usize) -> String {
    if columns.is_empty() {
        return String::new();
    }
    let names: Vec<String> = columns.iter().map(|name| format!("`{name}`")).collect();
    let text = format!(
        "columns that did not fit: {}; a wider terminal or a file shows all",
        names.join(", ")
    );
    wrap(&text, width).iter().map(|line| format!("{line}\n")).collect()
}

/// The commands that say more than a table of times, of the modes that are shown.
pub fn more(report: &Report) -> String {
    let mut out = String::new();
    for (mode, command) in [
        (Mode::Fusion, "`criterion-report fusion`: what fusing gained, and whether to fuse"),
        (
            Mode::Operators,
            "`criterion-report operators`: how near each implementation comes to the limit",
        ),
        (Mode::Calibration, "`criterion-report calibration`: a profile of this machine"),
        (
            Mode::Kernels,
            "`criterion-report kernels`: reports about them, compared with an earlier run",
        ),
    ] {
        if report.entries().any(|entry| entry.row.record.case.mode == mode) {
            out.push_str(&format!("{command}\n"));
        }
    }
    out
}
