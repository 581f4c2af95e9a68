//! The gain of fusing on the machine.

use std::collections::BTreeMap;

use plan::Dtype;
use serde_json::Value;
use statistics::{Benefit, Ratio};

use super::{ABSENT, heading, number, strings, text};
use crate::model::Interval;
use crate::order::Order as _;
use crate::render::table::{Align, Cell, GAP, Line, Paint, clear, fit, render, table_width, wrap};
use crate::render::units;
use crate::views::calibration::{FusionCalibration, Profile};
use crate::views::footnotes::Footnotes;
use crate::views::strategy as advice;
use crate::views::verdict;

/// The columns: heading, what stands below it, alignment. Changes of bytes by upstream's formula
/// are of files that have no others.
const COLUMNS: [(&str, &str, Align); 7] = [
    ("", "", Align::Left),
    ("speed-up", "", Align::Left),
    ("benefit", "", Align::Left),
    ("formula", "bytes", Align::Right),
    ("measured", "peak", Align::Right),
    ("upstream's", "formula", Align::Right),
    ("", "", Align::Left),
];

const MARKS: usize = COLUMNS.len() - 1;
const INDENT: usize = 4;
/// Columns that give way, in this order, where the table is too wide: benefit, bytes by formula.
const GIVE_WAY: [usize; 2] = [2, 3];

/// One line per pattern, dtype and size, and variant.
pub fn table(profile: &Profile, width: usize, colour: bool) -> String {
    if profile.fusion_profiles.is_empty() {
        return String::new();
    }
    let mut patterns: BTreeMap<String, BTreeMap<String, Vec<&FusionCalibration>>> = BTreeMap::new();
    for fusion in profile.fusions() {
        let sizes = patterns.entry(title(fusion)).or_default();
        sizes.entry(size(fusion)).or_default().push(fusion);
    }
    let mut footnotes = Footnotes::default();
    let mut lines = Vec::new();
    for (title, sizes) in patterns {
        lines.extend(wrap(&title, width - 4).iter().enumerate().map(|(line, part)| {
            let indent = if line == 0 { 2 } else { 4 };
            Line::Text(format!("{:indent$}{part}", "").into())
        }));
        for (size, mut fusions) in sizes {
            lines.push(Line::Text(Cell::new(format!("   {size}"), Paint::Dim)));
            fusions.order_by_key(|fusion| variant(fusion));
            lines.extend(fusions.into_iter().map(|fusion| line(fusion, &mut footnotes)));
        }
    }
    let below = COLUMNS.map(|(_, below, _)| Cell::new(below, Paint::Dim)).to_vec();
    lines.insert(0, Line::Cells(below));
    for column in 0..COLUMNS.len() {
        drop_empty(column, &mut lines);
    }
    let columns = COLUMNS.map(|(heading, _, align)| (heading, align));
    let lines = below_where_too_wide(&columns, lines, width);
    let count = profile.fusions().count();
    let mut out = heading(&format!("Fusion Pattern Performance ({count} total):"), colour);
    out.push_str(&render(&columns, &lines, INDENT, width, colour));
    out + &footnotes.render(width, colour)
}

/// Marks that have no room beside their line stand below it.
fn below_where_too_wide(
    columns: &[(&str, Align)],
    mut lines: Vec<Line>,
    width: usize,
) -> Vec<Line> {
    let mut bare = lines.clone();
    clear(MARKS, &mut bare);
    for column in fit(columns, &mut bare, INDENT, Some(width), &GIVE_WAY) {
        clear(column, &mut lines);
    }
    let room = width.saturating_sub(table_width(columns, &bare, INDENT) + GAP);
    let place = |(line, bare): (Line, Line)| match &line {
        Line::Cells(row) if row[MARKS].text.chars().count() > room => {
            let parts = wrap(&row[MARKS].text, width - INDENT - GAP).into_iter();
            let parts = parts.map(|part| format!("{:1$}{part}", "", INDENT + GAP));
            let below = parts.map(|part| Line::Text(Cell::new(part, Paint::Warn)));
            [bare].into_iter().chain(below).collect::<Vec<_>>()
        }
        _ => vec![line],
    };
    lines.into_iter().zip(bare).flat_map(place).collect()
}

/// Leaves a column out in which no fusion has a value.
fn drop_empty(column: usize, lines: &mut [Line]) {
    let empty = lines[1..].iter().all(|line| match line {
        Line::Cells(row) => row[column].text.is_empty(),
        Line::Spanning(..) | Line::Text(_) => true,
    });
    if let (true, Line::Cells(below)) = (empty, &mut lines[0]) {
        below[column] = Cell::default();
    }
}

/// `Linear_Bias (matmul, add), cpu, 2 threads`; allocator and cache where they are not the usual
/// ones.
fn title(fusion: &FusionCalibration) -> String {
    let params = &fusion.extra_params;
    let mut title = format!("{} ({})", fusion.fusion_pattern, fusion.operators.join(", "));
    title.extend(text(params, "device").map(|device| format!(", {device}")));
    let threads = params.get("threads").and_then(Value::as_u64);
    title.extend(threads.map(|it| format!(", {}", units::count(it as usize, "thread"))));
    let unusual = |name: &str, usual: &str| text(params, name).filter(|it| *it != usual);
    title.extend(unusual("allocator", "retained").map(|it| format!(", allocator {it}")));
    title.extend(unusual("cache", "hot").map(|it| format!(", {it} cache")));
    title
}

/// `f32 512x1024x1024`
fn size(fusion: &FusionCalibration) -> String {
    let params = &fusion.extra_params;
    let shape: Vec<String> = fusion.input_shape.iter().map(u64::to_string).collect();
    let size = text(params, "size").map_or_else(|| shape.join("x"), str::to_owned);
    let dtype = text(params, "dtype").and_then(|dtype| dtype.parse::<Dtype>().ok());
    dtype.map_or_else(|| size.clone(), |dtype| format!("{} {size}", dtype.short()))
}

fn variant(fusion: &FusionCalibration) -> &str {
    text(&fusion.extra_params, "variant").unwrap_or("fused")
}

fn line(fusion: &FusionCalibration, footnotes: &mut Footnotes) -> Line {
    let params = &fusion.extra_params;
    let bounds = number(params, "speedup_low").zip(number(params, "speedup_high"));
    let interval = bounds.map(|(low, high)| Interval { low, high });
    let ratio = fusion.speedup_factor;
    let benefit =
        interval.map(|Interval { low, high }| Benefit::from_ratio(&Ratio { ratio, low, high }));
    let paint = benefit.map_or(Paint::Plain, verdict::of_benefit);
    let own = params.contains_key("consistent_reduction");
    let change = |reduction: Option<f64>, there: bool| {
        let text = reduction.map_or_else(|| ABSENT.to_owned(), units::reduction);
        if there { text } else { String::new() }
    };
    Line::Cells(vec![
        variant(fusion).into(),
        Cell::new(units::ratio(ratio, interval), paint),
        Cell::new(benefit.map_or("no interval", Benefit::word), paint),
        change(number(params, "consistent_reduction"), own).into(),
        change(number(params, "peak_allocation_reduction"), own).into(),
        change(fusion.memory_reduction, !own).into(),
        Cell::new(footnotes.marks(notes(fusion)), Paint::Warn),
    ])
}

fn notes(fusion: &FusionCalibration) -> Vec<String> {
    let mut notes = Vec::new();
    if fusion.is_above_roof() {
        notes.push("one of the two forms exceeds the peak of its dtype and threads".to_owned());
    }
    notes.extend(strings(&fusion.extra_params, "cautions"));
    notes
}

pub fn strategy(profile: &Profile, width: usize, colour: bool) -> String {
    if profile.fusion_strategy.is_empty() {
        return String::new();
    }
    heading("Fusion Strategy:", colour) + &advice::strategy(&profile.fusion_strategy, width, colour)
}
