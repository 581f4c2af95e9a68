//! How the cases ended.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::kernels::KernelResult;
use crate::units;
use crate::write::Align;
use crate::write::kernels::summary::{kernels, outcomes};
use crate::write::markdown::{and_more, code, reason, table};

/// Lines of reasons.
const REASONS: usize = 15;

pub fn section(results: &[KernelResult<'_>]) -> String {
    let mut counts: Vec<(&str, usize)> = outcomes(results).into_iter().collect();
    // Measured cases come first.
    counts.sort_by_key(|(status, _)| *status != "measured");
    let counts: Vec<String> =
        counts.iter().map(|(status, cases)| format!("{cases} {status}")).collect();
    let mut out = format!(
        "{}, {}: {}.\n",
        units::count(kernels(results).len(), "kernel"),
        units::count(results.len(), "case"),
        counts.join(", "),
    );
    let mut reasons: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for result in results.iter().filter(|result| result.measured().is_none()) {
        let why = reason(&of_any_precision(result));
        reasons.entry((result.status, why)).or_default().push(result.full_id);
    }
    let more = reasons.len().saturating_sub(REASONS);
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    // Defects come first, and of these the ones that concern most cases.
    reasons.sort_by_key(|((status, _), ids)| {
        let fails = ["failed", "timeout", "oom", "missing"].contains(status);
        (!fails, Reverse(ids.len()))
    });
    let rows: Vec<Vec<String>> = reasons
        .into_iter()
        .take(REASONS)
        .map(|((status, why), ids)| {
            let case = format!("{}{}", code(ids[0]), and_more(ids.len() - 1));
            vec![status.to_owned(), case, why]
        })
        .collect();
    let columns = [("Not measured", Align::Left), ("Case", Align::Left), ("Why", Align::Left)];
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&table(&columns, &rows));
    }
    if more > 0 {
        out.push_str(&format!("\n{} in `summary.json`.\n", units::count(more, "further reason")));
    }
    out
}

/// The reason without the precision in front of it, `cpu: …` for `cpu, bf16: …`, so that the
/// precisions of one implementation share a line.
fn of_any_precision(result: &KernelResult<'_>) -> String {
    let reason = result.reason.as_deref().unwrap_or_default();
    let without = result.precision.and_then(|precision| {
        reason.strip_prefix(&format!("{}, {}: ", result.backend, precision.precision()))
    });
    match without {
        Some(rest) => format!("{}: {rest}", result.backend),
        None => reason.to_owned(),
    }
}
