//! What was found, as a table on standard output.

use super::rounds::Comparison;

/// No recipe should take more than this of torchao's time.
pub const ALLOWED: f64 = 1.05;

/// One case of the plan.
#[derive(Debug)]
pub struct Row {
    /// What it shares with the rows around it: group, threads, allocator.
    pub heading: String,
    /// Recipe and sparsity, as in the id.
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
    Compared {
        /// The two times.
        comparison: Comparison,
        /// torchao's type of the weight.
        weight: String,
    },
    /// One of the two has no such case.
    NotCompared(String),
    /// One of the two broke.
    Failed(String),
}

impl Outcome {
    /// Ours takes more than is allowed, and the whole interval says so.
    fn is_slower(&self) -> bool {
        matches!(self, Self::Compared { comparison, .. } if comparison.ratio.low > ALLOWED)
    }

    /// Whether the command fails because of it.
    pub fn is_failure(&self) -> bool {
        self.is_slower() || matches!(self, Self::Failed(_))
    }

    /// In one line, for the one who waits.
    pub fn line(&self) -> String {
        match (self.cells(), self) {
            ([ours, theirs, ratio, note], Self::Compared { .. }) => {
                format!("{ours} µs, torchao {theirs} µs: {ratio} {note}")
            }
            ([.., note], _) => note,
        }
    }

    /// The cells behind those of the case.
    fn cells(&self) -> [String; 4] {
        match self {
            Self::Compared { comparison, weight } => {
                let ratio = &comparison.ratio;
                let verdict = if self.is_slower() { "SLOWER; " } else { "" };
                [
                    micros(comparison.ours_ns),
                    micros(comparison.theirs_ns),
                    format!("{:.3} [{:.3}, {:.3}]", ratio.ratio, ratio.low, ratio.high),
                    format!("{verdict}{weight}"),
                ]
            }
            Self::NotCompared(reason) => ["-".into(), "-".into(), "-".into(), reason.clone()],
            Self::Failed(error) => ["-".into(), "-".into(), "-".into(), format!("FAILED: {error}")],
        }
    }
}

/// Four digits that matter.
fn micros(ns: f64) -> String {
    let micros = ns / 1e3;
    let decimals = (3 - micros.log10().floor() as i32).clamp(0, 3) as usize;
    format!("{micros:.decimals$}")
}

const COLUMNS: [&str; 6] = ["recipe", "shape", "ours µs", "torchao µs", "ratio [95 %]", "note"];

/// The rows in their order, each heading once, and what they come to.
pub fn render(rows: &[Row]) -> String {
    let lines: Vec<[String; 6]> = rows
        .iter()
        .map(|row| {
            let [ours, theirs, ratio, note] = row.outcome.cells();
            [row.variant.clone(), row.parameter.clone(), ours, theirs, ratio, note]
        })
        .collect();
    let columns = COLUMNS.map(str::to_owned);
    let width = |column: usize| {
        let cells = lines.iter().chain([&columns]).map(|line| line[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    let mut heading = None;
    for (row, line) in rows.iter().zip(&lines) {
        if heading != Some(&row.heading) {
            text += &format!("\n{}\n{}", row.heading, aligned(&columns, &widths));
            heading = Some(&row.heading);
        }
        text += &aligned(line, &widths);
    }
    text + "\n" + &summary(rows) + "\n"
}

/// Words to the left, numbers to the right.
fn aligned(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let mut line = String::from(" ");
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        line += &match column {
            2 | 3 => format!(" {cell:>width$} "),
            _ => format!(" {cell:<width$} "),
        };
    }
    line.trim_end().to_owned() + "\n"
}

fn summary(rows: &[Row]) -> String {
    let count = |is: &dyn Fn(&Outcome) -> bool| rows.iter().filter(|row| is(&row.outcome)).count();
    let compared = count(&|outcome| matches!(outcome, Outcome::Compared { .. }));
    let within = count(&|outcome| match outcome {
        Outcome::Compared { comparison, .. } => comparison.ratio.ratio <= ALLOWED,
        _ => false,
    });
    let slower = count(&Outcome::is_slower);
    let failed = count(&|outcome| matches!(outcome, Outcome::Failed(_)));
    let rest = rows.len() - compared - failed;
    format!(
        "{within} of {compared} at or below {ALLOWED}, {slower} above it with their whole interval; \
         {rest} not compared, {failed} failed"
    )
}
