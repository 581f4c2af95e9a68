//! The summary of an implementation's cases: over all of them, and along one dimension.

use super::Block;
use crate::render::table::{ABSENT, Cell, Line, Paint};
use crate::render::{units, words};
use crate::views::footnotes::{Footnotes, Note};
use crate::views::verdict::SIGNS;
use crate::views::view::{Layout, Room, Table, left, right};
use crate::views::{Axis, Mean, Summary};

fn layout(first: String) -> Layout<Summary> {
    Layout::of([
        left(first, |it| it.name.clone().into()),
        right("speed-up", |it| match &it.speedup {
            Some(mean) => units::ratio(mean.value, None).into(),
            None => Cell::new(if it.is_baseline { "baseline" } else { ABSENT }, Paint::Dim),
        }),
        right("low", |it: &Summary| of(it.speedup, |mean| units::ratio(mean.lowest, None)))
            .gives_way(2, "low"),
        right("high", |it: &Summary| of(it.speedup, |mean| units::ratio(mean.highest, None)))
            .gives_way(1, "high"),
        right(SIGNS[0], |it| of(it.speedup, |_| it.verdicts[0].to_string())),
        right(SIGNS[1], |it| of(it.speedup, |_| it.verdicts[1].to_string())),
        right(SIGNS[2], |it| of(it.speedup, |_| it.verdicts[2].to_string())),
        right(SIGNS[3], |it| of(it.speedup, |_| it.verdicts[3].to_string())),
        right("cases", |it| of(it.speedup, |mean| of_cases(mean.count, it.cases))),
        right("of limit", |it| of(it.efficiency, |mean| units::percent(mean.value))),
        right("cases", |it| of(it.efficiency, |mean| of_cases(mean.count, it.cases))),
    ])
}

/// A line per implementation, over all operators and sizes of one config, dtype and place.
pub fn summary(block: &Block<'_, '_>, room: Room) -> Table {
    let (layout, all) = (layout(String::new()), Summary::all(block));
    layout.table(&[], |footnotes| lines(&layout, &all, footnotes), room)
}

/// Per implementation of one operator a line for each value along the axis.
pub fn along(axis: Axis, block: &Block<'_, '_>, room: Room) -> Table {
    let (layout, all) = (layout(words::of_flag(axis)), Summary::along(axis, block));
    let lines = |footnotes: &mut Footnotes| {
        let mut lines = Vec::new();
        for (variant, values) in &all {
            let mark = if is_even(values) {
                String::new()
            } else {
                let note = "its means cover different sizes, which may explain a trend";
                format!("  {}", footnotes.mark(note.to_owned()))
            };
            lines.push(Line::Text(Cell::new(format!("  {variant}{mark}"), Paint::Dim)));
            lines.extend(self::lines(&layout, values, footnotes));
        }
        lines
    };
    layout.table(&[], lines, room)
}

/// Whether each mean is of as many cases at every value.
fn is_even(values: &[Summary]) -> bool {
    let counts =
        |it: &Summary| [it.speedup, it.efficiency].map(|mean| mean.map_or(0, |it| it.count));
    values.windows(2).all(|pair| counts(&pair[0]) == counts(&pair[1]))
}

fn lines(layout: &Layout<Summary>, all: &[Summary], footnotes: &mut Footnotes) -> Vec<Line> {
    let line = |it: &Summary| {
        if it.speedup.is_none() && it.efficiency.is_none() && !it.is_baseline {
            let text = format!("none of {} measured in pairs", units::count(it.cases, "case"));
            return Line::Spanning(it.name.clone().into(), Cell::new(text, Paint::Warn));
        }
        let sources: Vec<&str> = it.sources.iter().copied().collect();
        let mixed = (sources.len() > 1).then(|| {
            let sources = sources.join(" and ");
            format!("its limits have different sources, {sources}: choose one with --filter")
        });
        layout.line(it, mixed.into_iter().map(Note::from).collect(), footnotes)
    };
    all.iter().map(line).collect()
}

fn of(mean: Option<Mean>, text: impl Fn(Mean) -> String) -> Cell {
    mean.map(text).unwrap_or_default().into()
}

/// `3 of 4`, or `4` of as many.
fn of_cases(count: usize, cases: usize) -> String {
    if count == cases { count.to_string() } else { format!("{count} of {cases}") }
}
