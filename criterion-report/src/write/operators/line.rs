//! The line of one implementation at one size.

use std::collections::HashSet;

use statistics::Verdict;

use crate::model::{EfficiencySource, NoEfficiency, NoSpeedup, OperatorResult, Speedup, Standing};
use crate::units;
use crate::write::fusion::table::{no_time, time};
use crate::write::show::footnotes::{Footnotes, Note};
use crate::write::show::group::speedup;
use crate::write::table::{ABSENT, Cell, Line, Paint};
use crate::write::{failures, verdict};

/// Its cells, in the order of the table's columns; or why it has no numbers.
pub fn line(
    result: &OperatorResult<'_>,
    shared: &HashSet<&str>,
    footnotes: &mut Footnotes,
) -> Line {
    let row = result.row;
    if let Some(line) = failures::line(row, shared, footnotes) {
        return line;
    }
    let memory = row.record.measures.memory.map(|memory| memory.peak_bytes());
    let rate = row.gb_per_s().map(|rate| units::significant(rate, 3));
    let gate = row.worst_gate().map(|gate| units::significant(gate.worst.0, 2));
    let pair = result.speedup.as_ref();
    Line::Cells(vec![
        result.variant().into(),
        time(row),
        interval(result).into(),
        pair.map(speedup).unwrap_or_default(),
        pair.and_then(|pair| pair.as_ref().ok()).map(sign).unwrap_or_default(),
        rate.unwrap_or_default().into(),
        of_limit(result),
        memory.map(mebibytes).unwrap_or_default().into(),
        gate.unwrap_or_default().into(),
        result.standing.map(standing).unwrap_or_default(),
        Cell::new(footnotes.marks(notes(result)), Paint::Warn),
    ])
}

/// `[12.30, 12.41]`, in the unit of the median.
fn interval(result: &OperatorResult<'_>) -> String {
    let Ok(time) = &result.row.time else { return String::new() };
    let text = units::time_with_interval(time.median_ns, time.interval);
    text.find('[').map(|start| text[start..].to_owned()).unwrap_or_default()
}

fn sign(speedup: &Speedup) -> Cell {
    let of = speedup.verdict();
    Cell::new(SIGNS[place(of)], verdict::of_verdict(of))
}

/// Signs of faster, slower, same, inconclusive.
pub const SIGNS: [&str; 4] = ["▲", "▼", "=", "?"];

const fn place(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Faster => 0,
        Verdict::Slower => 1,
        Verdict::Same => 2,
        Verdict::Inconclusive => 3,
    }
}

fn of_limit(result: &OperatorResult<'_>) -> Cell {
    match &result.efficiency {
        Ok(efficiency) if efficiency.source == EfficiencySource::Itself => {
            Cell::new("limit", Paint::Dim)
        }
        Ok(efficiency) => units::percent(efficiency.share).into(),
        Err(NoEfficiency::NotMeasured) => Cell::default(),
        Err(_) => Cell::new(ABSENT, Paint::Warn),
    }
}

fn mebibytes(bytes: u64) -> String {
    units::significant(bytes as f64 / f64::from(1 << 20), 3)
}

fn standing(standing: Standing) -> Cell {
    let paint = match standing {
        Standing::Fastest => Paint::Good,
        Standing::Tied => Paint::Plain,
    };
    Cell::new(standing.word(), paint)
}

fn notes(result: &OperatorResult<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = no_time(result.row).into_iter().map(Note::from).collect();
    match &result.speedup {
        None | Some(Ok(_) | Err(NoSpeedup::NotMeasured)) => {}
        Some(Err(why)) => notes.push(format!("no speed-up: {why}").into()),
    }
    match &result.efficiency {
        Ok(_) | Err(NoEfficiency::NotMeasured | NoEfficiency::NoTime) => {}
        Err(why) => notes.push(format!("no limit: {why}").into()),
    }
    notes.extend(result.cautions.iter().map(Note::from));
    notes
}
