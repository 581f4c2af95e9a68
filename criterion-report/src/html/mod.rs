//! One page with everything: charts, a table, and what the numbers are to be read with. It is a
//! single file that asks no network for anything; its own script lays the cases out, sorts, filters
//! and draws, and computes no figure.

mod answers;
mod cases;
mod circumstances;
pub mod comparison;
mod data;
mod explanations;
mod figures;
mod notices;
mod profiles;
pub mod recommendation;
mod roofs;
mod template;

use std::io;

use anyhow::{Result, bail};

use crate::model::Entry;
use crate::read::Report;
use crate::render::units;
use crate::views::written::{Notes, Target};
use data::Data;
use profiles::Links;
use template::{escape, fill, json};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Title of the page
    #[arg(long, value_name = "TEXT", default_value = "Benchmark report")]
    pub title: String,
}

const PAGE: &str =
    concat!(include_str!("head.html"), include_str!("page.html"), include_str!("foot.html"));
const STYLES: &[&str] = &[
    include_str!("theme.css"),
    include_str!("page.css"),
    include_str!("dialog.css"),
    include_str!("chart.css"),
    include_str!("table.css"),
    include_str!("profile.css"),
    include_str!("media.css"),
];
/// In the order in which they stand on each other.
const SCRIPTS: &[&str] = &[
    include_str!("dom.js"),
    include_str!("scale.js"),
    include_str!("marks.js"),
    include_str!("rows.js"),
    include_str!("plot.js"),
    include_str!("cases.js"),
    include_str!("speedup.js"),
    include_str!("heatmap.js"),
    include_str!("frontier.js"),
    include_str!("roofline.js"),
    include_str!("memory.js"),
    include_str!("latency.js"),
    include_str!("explanation.js"),
    include_str!("profile.js"),
    include_str!("placed.js"),
    include_str!("details.js"),
    include_str!("table.js"),
    include_str!("filter.js"),
    include_str!("theme.js"),
    include_str!("main.js"),
];
/// The first scripts, which draw lines and plots of anything.
const PLOTS: usize = 5;

pub fn write(
    report: &Report,
    options: &Options,
    target: Target<'_>,
    out: &mut dyn io::Write,
) -> Result<Notes> {
    refuse_terminal(target.width.is_some())?;
    let entries: Vec<Entry<'_>> = report.entries().collect();
    let links = Links::new(target.file, report.records.as_deref());
    let data = json(&Data::new(report, &entries, &links))?;
    let script = SCRIPTS.concat();
    let parts = [
        ("title", escape(&options.title)),
        ("subtitle", escape(&subtitle(report))),
        ("style", STYLES.concat()),
        ("summary", notices::outcomes(report)),
        ("answers", answers::section(report)),
        ("notices", notices::notices(report)),
        ("environment", circumstances::blocks(report)),
        ("program", escape(concat!("criterion-report ", env!("CARGO_PKG_VERSION")))),
        ("data", data),
        ("script", script),
    ];
    fill(PAGE, &parts, out)?;
    Ok(Notes::new())
}

fn refuse_terminal(is_terminal: bool) -> Result<()> {
    if is_terminal {
        bail!("refusing to print HTML to a terminal; use --output FILE, e.g. --output report.html");
    }
    Ok(())
}

fn subtitle(report: &Report) -> String {
    let first = report.circumstances.iter().map(|it| it.first).min();
    let last = report.circumstances.iter().map(|it| it.last).max();
    let when = first.zip(last).map(|(first, last)| units::period(first, last));
    let when =
        when.map_or_else(|| "nothing recorded".to_owned(), |when| format!("measured {when}"));
    let circumstances = match report.circumstances.len() {
        0 | 1 => String::new(),
        several => format!(", under {several} sets of circumstances"),
    };
    let runs = match report.run_names.len() {
        0 => String::new(),
        runs => format!(" ({})", units::count(runs, "run")),
    };
    format!("Baseline {}{runs}, {when}{circumstances}", report.baseline)
}
