//! The answers on top of the page.

use super::template::{escape, folded};
use crate::read::Report;
use crate::views::summary::{self, Section};
use crate::views::{Answer, Answers};

/// Answers to a question that are not folded away.
const SHOWN: usize = 8;
/// Most answers that are folded away; the table of all cases has the rest.
const FOLDED: usize = 20;

/// The answers as tables; nothing where nothing is compared.
pub fn section(report: &Report) -> String {
    let answers = Answers::new(report);
    let mut out: String = summary::sections(&answers).iter().map(table).collect();
    let machine = summary::machine(&answers);
    if !machine.is_empty() {
        let items: String =
            machine.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
        out.push_str(&format!("<h3>What can this machine do?</h3>\n<ul>\n{items}</ul>\n"));
    }
    if out.is_empty() {
        return out;
    }
    format!("<section id=\"answers\">\n<h2>What pays here</h2>\n{out}</section>\n")
}

fn table(of: &Section<'_>) -> String {
    let (shown, more) = of.answers.split_at(of.answers.len().min(SHOWN));
    let head = format!(
        "<thead><tr><th></th><th>{}</th><th>speed-up</th><th></th></tr></thead>",
        of.column
    );
    let table = |answers: &[&Answer]| {
        let rows: String = answers.iter().map(|of| row(of)).collect();
        format!(
            "<div class=\"scroll\"><table class=\"answers\">{head}<tbody>\n{rows}</tbody></table></div>\n"
        )
    };
    let left = match more.len().saturating_sub(FOLDED) {
        0 => String::new(),
        left => format!("<p>{left} more are in the table of all cases.</p>"),
    };
    let rest = table(&more[..more.len().min(FOLDED)]) + &left;
    format!("<h3>{}</h3>\n{}{}", escape(of.title), table(shown), folded(more.len(), &rest))
}

fn row(of: &Answer) -> String {
    let [subject, answer, speedup, details] =
        summary::cells_with_reason(of).map(|text| escape(&text));
    let class = match of.pays {
        Some(true) => " class=\"faster\"",
        Some(false) => " class=\"slower\"",
        None => "",
    };
    format!(
        "<tr><th>{subject}</th><td{class}>{answer}</td><td>{speedup}</td><td>{details}</td></tr>\n"
    )
}
