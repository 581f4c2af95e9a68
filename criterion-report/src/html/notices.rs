//! Notices before the numbers: how the cases ended, and what was found wrong.

use plan::{Check, CheckStatus, Outcome};

use super::template::{escape, folded};
use crate::order::Order as _;
use crate::read::Report;
use crate::render::units;
use crate::views::written::{earlier, foreign};

/// How many cases ended how, as items of a list.
pub fn outcomes(report: &Report) -> String {
    let mut outcomes = report.outcomes();
    // Measured cases come first.
    outcomes.order_by_key(|(status, _)| *status != Outcome::Measured.status());
    if !report.missing.is_empty() {
        outcomes.push(("not reached", report.missing.len()));
    }
    let total: usize = outcomes.iter().map(|(_, cases)| cases).sum();
    let noun = if total == 1 { "case" } else { "cases" };
    let items = [(noun, total)].into_iter().chain(outcomes);
    items
        .map(|(name, cases)| {
            let class = name.replace(' ', "-");
            let cases = units::grouped(&cases.to_string());
            format!("<li class=\"outcome {class}\"><b>{cases}</b> {name}</li>\n")
        })
        .collect()
}

/// Notices that are not folded away.
const SHOWN: usize = 4;

/// Everything that qualifies more than one case, the worst first.
pub fn notices(report: &Report) -> String {
    let mut checks: Vec<&Check> = report.checks.iter().collect();
    checks.order_by_key(|check| check.status != CheckStatus::Failed);
    let checks = checks.into_iter().filter_map(|check| {
        let kind = if check.status == CheckStatus::Failed { "bad" } else { "warn" };
        Some((kind, "machine", check.warning()?))
    });
    // A run says as a warning, too, what a check of it found.
    let said: Vec<String> = report.checks.iter().filter_map(Check::warning).collect();
    let runs = report.run_warnings.iter().filter(|text| !said.contains(text));
    let runs = runs.map(|text| ("warn", "run", text.clone()));
    let unreadable = report.unreadable.iter().map(|text| ("bad", "unreadable", text.clone()));
    let files = report.warnings.iter().map(|text| ("warn", "files", text.clone()));
    let earlier = earlier(report).map(|text| ("note", "rows", text));
    let foreign = foreign(report).map(|text| ("note", "rows", text));
    let hidden = report.rows_read - report.entries().count();
    let hidden = (hidden > 0).then(|| {
        let text = format!(
            "{} of {} left out by --filter or --latest",
            units::grouped(&hidden.to_string()),
            units::count(report.rows_read, "recorded case"),
        );
        ("note", "rows", text)
    });
    let all = unreadable
        .chain(checks)
        .chain(runs)
        .chain(files)
        .chain(earlier)
        .chain(foreign)
        .chain(hidden);
    let items: Vec<String> = all
        .map(|(kind, of, text)| {
            format!("<li class=\"{kind}\"><b>{of}</b> <span>{}</span></li>\n", escape(&text))
        })
        .collect();
    if items.is_empty() {
        return "<p class=\"fine\">Nothing was found wrong with the machine, the runs or their \
                files.</p>\n"
            .to_owned();
    }
    let list = |items: &[String]| format!("<ul class=\"notices\">\n{}</ul>\n", items.concat());
    let (shown, more) = items.split_at(items.len().min(SHOWN));
    list(shown) + &folded(more.len(), &list(more))
}
