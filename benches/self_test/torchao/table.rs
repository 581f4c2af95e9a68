//! The results, as a table on standard output.

use super::rounds::{ALLOWED, Comparison, Verdict};

/// One case of the plan.
#[derive(Debug)]
pub struct Row {
    /// Shared with the rows around it: group, threads, allocator.
    pub heading: String,
    /// Recipe, sparsity and compilation, as in the id.
    pub variant: String,
    /// Dtype and shape, as in the id.
    pub parameter: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a row ended.
#[derive(Debug)]
pub enum Outcome {
    /// Both ran.
    Compared(Comparison),
    /// One of the two has no such case.
    NotCompared(String),
    /// One of the two broke.
    Failed(String),
}

impl Outcome {
    fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Compared(comparison) => Some(Verdict::from_ratio(&comparison.ratio)),
            Self::NotCompared(_) | Self::Failed(_) => None,
        }
    }

    /// Whether the command fails because of it.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Compared(comparison) => Verdict::from_ratio(&comparison.ratio) != Verdict::Within,
            Self::NotCompared(_) => false,
            Self::Failed(_) => true,
        }
    }

    /// In one line, for the one who waits.
    pub fn line(&self) -> String {
        match self {
            Self::Compared(comparison) => {
                let [ours, theirs, ratio, verdict] = cells(comparison);
                format!("{ours} µs, torchao {theirs} µs: {ratio} {verdict}").trim_end().to_owned()
            }
            Self::NotCompared(reason) => reason.clone(),
            Self::Failed(error) => format!("FAILED: {error}"),
        }
    }
}

/// The cells behind those of the case.
fn cells(comparison: &Comparison) -> [String; 4] {
    let ratio = &comparison.ratio;
    let verdict = match Verdict::from_ratio(ratio) {
        Verdict::Within => "",
        Verdict::Undecided => "above, undecided",
        Verdict::Slower => "SLOWER",
    };
    [
        micros(comparison.ours_ns),
        micros(comparison.theirs_ns),
        format!("{:.3} [{:.3}, {:.3}]", ratio.ratio, ratio.low, ratio.high),
        verdict.to_owned(),
    ]
}

/// Four digits that matter.
fn micros(ns: f64) -> String {
    let micros = ns / 1e3;
    let decimals = (3 - micros.log10().floor() as i32).clamp(0, 3) as usize;
    format!("{micros:.decimals$}")
}

type Line = [String; 6];

const COLUMNS: [&str; 6] = ["variant", "shape", "ours µs", "torchao µs", "ratio [95 %]", "verdict"];

/// For each heading the rows that could be compared, in their order, and why the others could not;
/// then what they come to.
pub fn render(rows: &[Row]) -> String {
    let columns = COLUMNS.map(str::to_owned);
    let lines: Vec<Line> = rows.iter().filter_map(line).chain([columns.clone()]).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: [usize; 6] = std::array::from_fn(|column| width(column).unwrap_or_default());

    let mut text = String::new();
    for section in rows.chunk_by(|one, next| one.heading == next.heading) {
        text += &format!("\n{}\n", section[0].heading);
        let lines: Vec<Line> = section.iter().filter_map(line).collect();
        if !lines.is_empty() {
            text.extend([&columns].into_iter().chain(&lines).map(|line| aligned(line, &widths)));
        }
        text += &reasons("not compared", section, |outcome| match outcome {
            Outcome::NotCompared(reason) => Some(reason),
            Outcome::Compared(_) | Outcome::Failed(_) => None,
        });
        text += &reasons("FAILED", section, |outcome| match outcome {
            Outcome::Failed(error) => Some(error),
            Outcome::Compared(_) | Outcome::NotCompared(_) => None,
        });
    }
    text + "\n" + &summary(rows) + "\n"
}

fn line(row: &Row) -> Option<Line> {
    let Outcome::Compared(comparison) = &row.outcome else { return None };
    let [ours, theirs, ratio, verdict] = cells(comparison);
    Some([row.variant.clone(), row.parameter.clone(), ours, theirs, ratio, verdict])
}

/// Words to the left, numbers to the right.
fn aligned(cells: &Line, widths: &[usize; 6]) -> String {
    let mut line = String::from(" ");
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        line += &match column {
            2 | 3 => format!(" {cell:>width$} "),
            _ => format!(" {cell:<width$} "),
        };
    }
    line.trim_end().to_owned() + "\n"
}

/// Each reason once, and below it the variants that it holds for; with their shapes, where it does
/// not hold for all of them.
fn reasons(title: &str, rows: &[Row], reason: impl Fn(&Outcome) -> Option<&String>) -> String {
    let mut seen: Vec<&String> = Vec::new();
    for found in rows.iter().filter_map(|row| reason(&row.outcome)) {
        if !seen.contains(&found) {
            seen.push(found);
        }
    }
    let paragraph = |why: &&String| {
        let recipes: Vec<String> = recipes(rows, |outcome| reason(outcome) == Some(why));
        format!("    {why}\n      {}\n", recipes.join(", "))
    };
    let paragraphs: String = seen.iter().map(paragraph).collect();
    if paragraphs.is_empty() { paragraphs } else { format!("  {title}\n{paragraphs}") }
}

fn recipes(rows: &[Row], holds: impl Fn(&Outcome) -> bool) -> Vec<String> {
    let mut recipes: Vec<&String> = Vec::new();
    for row in rows.iter().filter(|row| holds(&row.outcome)) {
        if !recipes.contains(&&row.variant) {
            recipes.push(&row.variant);
        }
    }
    let with_shapes = |recipe: &String| {
        let (those, others): (Vec<&Row>, Vec<&Row>) =
            rows.iter().filter(|row| row.variant == *recipe).partition(|row| holds(&row.outcome));
        let shapes: Vec<&str> = those.iter().map(|row| row.parameter.as_str()).collect();
        if others.is_empty() { recipe.clone() } else { format!("{recipe} ({})", shapes.join(", ")) }
    };
    recipes.into_iter().map(with_shapes).collect()
}

fn summary(rows: &[Row]) -> String {
    let count = |is: &dyn Fn(&Outcome) -> bool| rows.iter().filter(|row| is(&row.outcome)).count();
    let verdict = |wanted| count(&|outcome| outcome.verdict() == Some(wanted));
    let [within, undecided, slower] =
        [Verdict::Within, Verdict::Undecided, Verdict::Slower].map(verdict);
    let compared = within + undecided + slower;
    let failed = count(&|outcome| matches!(outcome, Outcome::Failed(_)));
    let rest = rows.len() - compared - failed;
    format!(
        "{within} of {compared} at or below {ALLOWED}, {slower} above it with their whole \
         interval, {undecided} above it, undecided; {rest} not compared, {failed} failed"
    )
}
