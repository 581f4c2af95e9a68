//! Markdown for a comment on a pull request. GitHub takes 65 536 characters: what does not fit is
//! counted, not cut in the middle.

use super::text;
use crate::compare::{Compared, Comparison, Verdict};
use crate::render::markdown::{cell, code, plain};
use crate::render::units;

const MOST: usize = 65_000;
/// Left for what counts the cases that did not fit, and for closing tags.
const RESERVE: usize = 400;

/// Verdicts that stand open; the others are folded away.
const OPEN: [Verdict; 4] =
    [Verdict::Regressed, Verdict::Missing, Verdict::Inconclusive, Verdict::Improved];
const FOLDED: [Verdict; 3] = [Verdict::New, Verdict::Equivalent, Verdict::NotCompared];

pub fn write(comparison: &Comparison, details: bool) -> String {
    let mut text = Text { details, ..Text::default() };
    text.add(&head(comparison));
    text.table(OPEN.iter().flat_map(|verdict| comparison.of_verdict(*verdict)).collect());
    for verdict in FOLDED {
        let cases = comparison.of_verdict(verdict);
        if cases.is_empty() {
            continue;
        }
        let summary = format!("{} {}", cases.len(), verdict.word());
        if text.add(&format!("\n<details><summary>{summary}</summary>\n")) {
            text.table(cases);
            text.close("\n</details>\n");
        } else {
            text.left_out += cases.len();
        }
    }
    if let Some(hidden) = text::hidden_cautions(comparison.cases.iter(), details) {
        text.close(&format!("\n{hidden}.\n"));
    }
    text.end()
}

fn head(comparison: &Comparison) -> String {
    let cases = units::count(comparison.cases.len(), "case");
    let (a, b) = (text::side(&comparison.a), text::side(&comparison.b));
    let mut head = format!("### {cases}: {}\n\n{b} against {a}", text::counts(comparison));
    head.push_str(&format!("; {}.\n", text::rule(comparison)));
    for line in text::hosts(comparison).into_iter().chain(text::floors(comparison)) {
        head.push_str(&format!("\n> {line}\n"));
    }
    head
}

/// Text that stays below [`MOST`] characters.
#[derive(Default)]
struct Text {
    text: String,
    characters: usize,
    left_out: usize,
    /// All cautions, not only of what differs.
    details: bool,
}

impl Text {
    /// Adds a part if it fits.
    fn add(&mut self, part: &str) -> bool {
        let characters = part.chars().count();
        let fits = self.characters + characters + RESERVE <= MOST;
        if fits {
            self.close(part);
        }
        fits
    }

    /// Adds what [`RESERVE`] has room for.
    fn close(&mut self, part: &str) {
        self.text.push_str(part);
        self.characters += part.chars().count();
    }

    fn table(&mut self, cases: Vec<&Compared>) {
        const HEAD: &str = "\n| | case | A | B | B / A | why |\n|---|---|--:|--:|--:|---|\n";
        if cases.is_empty() {
            return;
        }
        let begun = self.add(HEAD);
        for case in cases {
            // Once one does not fit, none is shown: a shorter one behind it would seem the next.
            if !begun || self.left_out > 0 || !self.add(&line(case, self.details)) {
                self.left_out += 1;
            }
        }
    }

    fn end(mut self) -> String {
        if self.left_out > 0 {
            let cases = units::count(self.left_out, "more case");
            self.close(&format!("\n{cases} did not fit into this comment.\n"));
        }
        self.text
    }
}

fn line(case: &Compared, details: bool) -> String {
    let [a, b, ratio] = match case.worst().filter(|it| it.a.is_some() || it.b.is_some()) {
        Some(finding) => [
            text::value(finding.measure, finding.a),
            text::value(finding.measure, finding.b),
            text::ratio(finding),
        ],
        None => Default::default(),
    };
    let cautions = text::cautions(case, details).iter();
    let cautions = cautions.map(|caution| format!("<br>caution: {}", cell(&plain(caution))));
    format!(
        "| {} | {} | {a} | {b} | {ratio} | {}{} |\n",
        mark(case.verdict),
        cell(&code(&case.full_id)),
        cell(&plain(&case.reason)),
        cautions.collect::<String>()
    )
}

/// The word, bold where it asks for something.
fn mark(verdict: Verdict) -> String {
    match verdict {
        Verdict::Regressed | Verdict::Missing => format!("**{}**", verdict.word()),
        other => other.word().to_owned(),
    }
}
