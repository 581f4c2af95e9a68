//! The page of a recommendation: speed, memory and accuracy of the choices, the time of each group, and the tables.

use anyhow::Result;
use serde_json::{Value, json};

use super::template::{self, escape, fill};
use crate::render::table::{Align, Cell};
use crate::render::units::ByteUnit;
use crate::views::recommend::{Document, text};
use crate::visible;

const PAGE: &str = concat!(
    include_str!("head.html"),
    include_str!("recommendation.html"),
    include_str!("foot.html")
);

/// The page.
pub fn page(document: &Document<'_>) -> Result<String> {
    let table = |(columns, rows): text::Table| {
        let is_right = |(name, align): &(&str, Align)| json!([name, *align == Align::Right]);
        let texts = |row: &Vec<Cell>| row.iter().map(|cell| visible::line(&cell.text)).collect();
        json!({
            "columns": columns.iter().map(is_right).collect::<Value>(),
            "rows": rows.iter().map(texts).collect::<Vec<Value>>(),
        })
    };
    // The times of a group are over that of all unquantized layers.
    let groups = document.groups.iter().map(|it| {
        let (name, speedup) = (visible::line(it.group), &it.chosen.speedup);
        let times = [it.time_share, it.time_share / speedup.ratio];
        json!([name, it.chosen.recipe, text::factor(speedup).text, times])
    });
    let data = json!({
        "byte_units": ByteUnit::ALL.map(|unit| (unit.name, unit.bytes)),
        "front": document.front,
        "totals": document.totals,
        "groups": groups.collect::<Value>(),
        "tables": text::tables(document).map(table),
    });
    let remark = |text: &String| format!("<li>{}</li>\n", escape(text));
    let parts = [
        ("title", escape(&text::title(document))),
        ("question", escape(&text::question(document))),
        ("remarks", text::remarks(document).iter().map(remark).collect()),
        ("style", super::STYLES.concat() + include_str!("comparison.css")),
        ("program", escape(concat!("criterion-report ", env!("CARGO_PKG_VERSION")))),
        ("data", template::json(&data)?),
        ("script", super::SCRIPTS[..super::PLOTS].concat() + include_str!("recommendation.js")),
    ];
    let mut page = Vec::new();
    fill(PAGE, &parts, &mut page)?;
    Ok(String::from_utf8(page)?)
}
