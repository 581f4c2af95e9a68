//! How times went over several runs.

use crate::model::kernels::Trend;
use crate::units;
use crate::write::Align;
use crate::write::markdown::{code, table};

/// Lines of the table.
const LINES: usize = 30;
/// Runs in a line.
const RUNS: usize = 24;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const COLUMNS: &[(&str, Align)] = &[
    ("Case", Align::Left),
    ("Runs", Align::Right),
    ("First", Align::Right),
    ("Best", Align::Right),
    ("Last", Align::Right),
    ("Last over first", Align::Right),
    ("Medians", Align::Left),
];

pub fn section(trends: &[Trend]) -> String {
    if trends.is_empty() {
        return "No case of now has a time in an earlier run on this machine.".to_owned();
    }
    let mut furthest: Vec<&Trend> = trends.iter().collect();
    furthest.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    let rows: Vec<Vec<String>> = furthest.iter().take(LINES).map(|trend| row(trend)).collect();
    let mut out =
        "Criterion's medians, those furthest from their first run on top; from the lowest \
                   to the highest of each line.\n\n"
            .to_owned();
    out.push_str(&table(COLUMNS, &rows));
    if trends.len() > LINES {
        out.push_str(&format!("\n{} not shown.\n", units::count(trends.len() - LINES, "case")));
    }
    out
}

fn row(trend: &Trend) -> Vec<String> {
    let medians: Vec<f64> = trend.medians.iter().map(|(_, ns)| *ns).collect();
    vec![
        code(&trend.full_id),
        medians.len().to_string(),
        units::time(trend.first()),
        units::time(trend.best()),
        units::time(trend.last()),
        units::reduction(-trend.change()),
        sparkline(&medians[medians.len().saturating_sub(RUNS)..]),
    ]
}

/// The lowest value is the lowest bar; equal ones are all the lowest.
fn sparkline(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bar = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        BARS[(share * (BARS.len() - 1) as f64).round() as usize]
    };
    values.iter().map(|&value| bar(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_go_from_the_lowest_to_the_highest() {
        assert_eq!(sparkline(&[1.0, 8.0, 4.5]), "▁█▅");
        assert_eq!(sparkline(&[3.0, 3.0]), "▁▁");
    }
}
