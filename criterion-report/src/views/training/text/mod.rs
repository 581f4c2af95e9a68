//! `training`: what the parts of a training step take, what recipes gain in them, and from which shapes on a
//! recipe gains; as tables and maps for people, or as a document for programs.

mod json;
mod map;
mod table;

use anyhow::{Result, bail};
use clap::ColorChoice;

use crate::model::Key;
use crate::read::Report;
use crate::render::json_text::{self, Style};
use crate::render::table::Paint;
use crate::render::table::screen;
use crate::views::calibration::Skyline;
use crate::views::training::TrainingResult;
pub use crate::views::view::Format;
use crate::views::view::{Room, Table, page, paragraph};
use crate::views::written::Target;

pub use json::Document;

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Tables and maps for people, or JSON
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Print only the maps: from which M, K and N a recipe gains
    #[arg(long)]
    pub crossover: bool,
    /// When to colour the tables
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

pub fn write(report: &Report, options: &Options, target: Target<'_>) -> Result<String> {
    let results = TrainingResult::all(report);
    if results.is_empty() && report.missing.is_empty() {
        bail!(
            "the records of `{}` hold no training case\n  measure some with `cargo bench --bench \
             training`",
            report.baseline
        );
    }
    let skylines = Skyline::all(report.with_calibrations());
    if options.format == Format::Json {
        if options.crossover {
            bail!(
                "--crossover applies to the tables only: the JSON has both\n  leave out one of \
                   --crossover and --format json"
            );
        }
        let document = Document::of(report, &results, &skylines);
        return Ok(json_text::to_string(&document, Style::Pretty)? + "\n");
    }
    let room = Room::of(target, options.color);
    let mut tables = Vec::new();
    for block in TrainingResult::blocks(&results) {
        let title = title(&block, room);
        if !options.crossover {
            tables.push(table::times(&block, &skylines, &title, room));
            tables.push(table::speedups(&block, room));
        }
        let maps = map::maps(&block, room);
        let heading = if options.crossover { title } else { String::new() };
        tables.push(Table { text: heading + &maps, ..Table::default() });
    }
    Ok(screen(&page(report, tables, None, room), room.colour))
}

pub type Block<'r, 'a> = Vec<&'r TrainingResult<'a>>;

fn title(block: &Block<'_, '_>, room: Room) -> String {
    let Key { work, dtype, place } = &block[0].key;
    let title = room.bold(&format!("training/{}/{}", block[0].config, work.model));
    title + &paragraph(&format!("{} on {place}", dtype.plain()), 2, Paint::Dim, room)
}
