//! Runs of one revision against each other, as a table.

use crate::compare::{Aa, AaCase};
use crate::render::table::{Align, Line, Paint, render, screen};
use crate::render::units;

const COLUMNS: &[(&str, Align)] = &[
    ("case", Align::Left),
    ("runs", Align::Right),
    ("σ", Align::Right),
    ("spread", Align::Right),
    ("changed", Align::Right),
    ("widened", Align::Right),
];

pub fn write(aa: &Aa, width: Option<usize>, colour: bool) -> String {
    const WIDTH: usize = 100;
    let title = format!("{} runs of `{}`, one revision", aa.runs, aa.name);
    let lines: Vec<Line> = aa.cases.iter().map(line).collect();
    let table = render(COLUMNS, &lines, 0, width.unwrap_or(WIDTH), colour);
    let (title, summary) = (Paint::Bold.on(&title, colour), summary(aa));
    screen(&format!("{title}\n\n{table}\n{summary}"), colour)
}

fn line(case: &AaCase) -> Line {
    let share = |called: usize| units::percent(called as f64 / case.pairs as f64);
    Line::Cells(vec![
        case.full_id.as_str().into(),
        case.runs.to_string().into(),
        units::percent(case.sigma).into(),
        units::percent(case.spread).into(),
        share(case.before).into(),
        share(case.after).into(),
    ])
}

fn summary(aa: &Aa) -> String {
    let pairs: usize = aa.cases.iter().map(|case| case.pairs).sum();
    let called = |of: fn(&AaCase) -> usize| {
        let called: usize = aa.cases.iter().map(of).sum();
        units::percent(called as f64 / pairs as f64)
    };
    let (before, after) = (called(|case| case.before), called(|case| case.after));
    let mut text = format!(
        "In {pairs} comparisons of two single runs of the same code, {before} were called \
         regressed or\nimproved by the noise within runs alone, {after} with the floor of this \
         profile.\n"
    );
    for host in &aa.hosts {
        let noise = &aa.profile.hosts[host];
        let Some(pooled) = noise.pooled.time else { continue };
        let cases = units::count(noise.cases.len(), "case");
        text.push_str(&format!("{host}: pooled σ {} over {cases}\n", units::percent(pooled)));
    }
    text
}
