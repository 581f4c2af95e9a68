//! The page of a recommendation: speed, memory and accuracy of the choices, the time of each group, and the tables.

use anyhow::Result;
use serde::Serialize;

use super::template::{escape, fill, json};
use crate::render::table::{Align, Cell};
use crate::render::units::{self, ByteUnit};
use crate::views::recommend::{Document, FrontPoint, Group, RECOMMENDED, Total, text};
use crate::visible;

const PAGE: &str = concat!(include_str!("head.html"), include_str!("recommendation.html"));
const STYLES: [&str; 6] = [
    include_str!("theme.css"),
    include_str!("page.css"),
    include_str!("chart.css"),
    include_str!("comparison.css"),
    include_str!("dialog.css"),
    include_str!("media.css"),
];
const SCRIPTS: [&str; 6] = [
    include_str!("dom.js"),
    include_str!("scale.js"),
    include_str!("marks.js"),
    include_str!("rows.js"),
    include_str!("plot.js"),
    include_str!("recommendation.js"),
];

/// Everything that the page's script lays out.
#[derive(Serialize)]
struct Data<'a> {
    byte_units: [(&'static str, u64); ByteUnit::ALL.len()],
    front: &'a [FrontPoint],
    points: Vec<Point<'a>>,
    groups: Vec<Bars>,
    tables: [Table; 2],
}

/// All layers under one choice.
#[derive(Serialize)]
struct Point<'a> {
    name: &'a str,
    is_chosen: bool,
    speedup: f64,
    low: f64,
    high: f64,
    bytes: u64,
    sqnr_db: Option<f64>,
    said: String,
}

impl<'a> Point<'a> {
    fn new(total: &'a Total) -> Self {
        let speedup = text::factor(&total.speedup).text;
        let [time, weights] = [units::time(total.ns), units::bytes(total.weight_bytes)];
        let sqnr = text::decibels(total.sqnr_db).text;
        Self {
            name: &total.name,
            is_chosen: total.name == RECOMMENDED,
            speedup: total.speedup.ratio,
            low: total.speedup.low,
            high: total.speedup.high,
            bytes: total.weight_bytes,
            sqnr_db: total.sqnr_db,
            said: format!("{}\n{time} {speedup}\nweights {weights}\nSQNR {sqnr}", total.name),
        }
    }
}

/// Times of a group as shares of the time of all unquantized layers.
#[derive(Serialize)]
struct Bars {
    name: String,
    recipe: String,
    speedup: String,
    before: f64,
    after: f64,
    said: String,
}

impl Bars {
    fn new(group: &Group<'_>) -> Self {
        let (before, chosen) = (group.time_share, &group.chosen);
        let after = before / chosen.speedup.ratio;
        let [from, to] = [before, after].map(units::percent);
        let name = visible::line(group.group).into_owned();
        let said = format!("{name}: {from} of the time, {to} as recommended");
        let speedup = text::factor(&chosen.speedup).text;
        Self { name, recipe: chosen.recipe.clone(), speedup, before, after, said }
    }
}

/// A table of the text.
#[derive(Serialize)]
struct Table {
    /// Names, and whether the cells are on the right.
    columns: Vec<(&'static str, bool)>,
    rows: Vec<Vec<String>>,
}

/// The page.
pub fn page(document: &Document<'_>) -> Result<String> {
    let table = |(columns, rows): (&[(&'static str, Align)], Vec<Vec<Cell>>)| Table {
        columns: columns.iter().map(|(name, align)| (*name, *align == Align::Right)).collect(),
        rows: rows
            .into_iter()
            .map(|row| row.iter().map(|cell| visible::line(&cell.text).into_owned()).collect())
            .collect(),
    };
    let data = Data {
        byte_units: ByteUnit::ALL.map(|unit| (unit.name, unit.bytes)),
        front: &document.front,
        points: document.totals.iter().map(Point::new).collect(),
        groups: document.groups.iter().map(Bars::new).collect(),
        tables: text::tables(document).map(table),
    };
    let remark = |text: &String| format!("<li>{}</li>\n", escape(text));
    let parts = [
        ("title", escape(&text::title(document))),
        ("question", escape(&text::question(document))),
        ("remarks", text::remarks(document).iter().map(remark).collect()),
        ("style", STYLES.concat()),
        ("program", escape(concat!("criterion-report ", env!("CARGO_PKG_VERSION")))),
        ("data", json(&data)?),
        ("script", SCRIPTS.concat()),
    ];
    let mut page = Vec::new();
    fill(PAGE, &parts, &mut page)?;
    Ok(String::from_utf8(page)?)
}
