//! `show`: the report as a table for people.

use std::collections::BTreeSet;

use clap::ColorChoice;

use super::Target;
use super::table::{Align, Cell, Line, Paint, render, wrap};
use crate::model::{Circumstances, Entry, NoTime, Report, Speedup};
use crate::units;
use plan::Outcome;

/// What `show` can be told.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// When to colour; `auto` colours on a terminal unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// Columns that the output keeps to where ids and names let it.
const WIDTH: usize = 100;

/// The report as a table for people.
pub fn write(report: &Report, options: &Options, target: Target) -> String {
    let colour = match options.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => target.colour_terminal,
    };
    let mut out = header(report, colour);
    for group in groups(report) {
        out.push('\n');
        out.push_str(&group_table(&group, colour));
    }
    out.push('\n');
    out.push_str(&footer(report, colour));
    out
}

/// Entries of one criterion group, in the order in which groups and cases first appear.
fn groups(report: &Report) -> Vec<Vec<Entry<'_>>> {
    gather(report.entries(), |entry| &entry.row.record.case.id.group)
}

fn gather<'a, I: IntoIterator<Item = Entry<'a>>>(
    entries: I,
    key: impl Fn(&Entry<'a>) -> &'a String,
) -> Vec<Vec<Entry<'a>>> {
    let mut places = std::collections::HashMap::new();
    let mut gathered: Vec<Vec<Entry<'a>>> = Vec::new();
    for entry in entries {
        let place = *places.entry(key(&entry)).or_insert_with(|| {
            gathered.push(Vec::new());
            gathered.len() - 1
        });
        gathered[place].push(entry);
    }
    gathered
}

/// Circumstances of the numbers, without which they say nothing.
fn header(report: &Report, colour: bool) -> String {
    let mut out = String::new();
    let several = report.circumstances.len() > 1;
    for (index, circumstances) in report.circumstances.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        for (label, text) in facts(circumstances, &report.baseline, several) {
            let indent = 10;
            for (line, part) in wrap(&text, WIDTH - indent).iter().enumerate() {
                let label = format!("{:indent$}", if line == 0 { label } else { "" });
                out.push_str(&format!("{}{part}\n", Paint::Dim.on(&label, colour)));
            }
        }
    }
    out
}

fn facts(of: &Circumstances, baseline: &str, several: bool) -> Vec<(&'static str, String)> {
    let (host, torch) = (&of.environment.host, &of.environment.torch);
    let join = |items: Vec<String>| items.join(" or ");
    let threads = join(of.threads.iter().map(u32::to_string).collect());
    let plural = if threads == "1" { "" } else { "s" };
    let mut machine = format!(
        "{}, {}, {}, {}, {}",
        host.cpu_model,
        units::count(host.cpus as usize, "CPU"),
        units::bytes(host.memory_bytes),
        host.os,
        host.hostname,
    );
    for device in &of.cuda_devices {
        machine.push_str(&format!(", {device}"));
    }
    let cuda = torch.cuda.as_ref().map(|cuda| format!(", CUDA {cuda}")).unwrap_or_default();
    let library = format!(
        "{}{cuda}, {}, {threads} thread{plural}, allocator {}, float32 matmul {}",
        torch.libtorch,
        torch.cpu_capability,
        join(of.allocators.iter().cloned().collect()),
        torch.float32_matmul_precision,
    );
    let git = of.environment.git_revision.as_deref().unwrap_or("none");
    let rows = if several { format!(", {}", units::count(of.rows, "case")) } else { String::new() };
    let run = format!(
        "{}, baseline {baseline}, git {git}, rustc {}{rows}",
        period(of),
        of.environment.rustc
    );
    vec![("machine", machine), ("libtorch", library), ("measured", run)]
}

/// `2026-11-20 14:03 to 14:10 UTC`.
fn period(of: &Circumstances) -> String {
    let (first, last) = (units::minute(of.first), units::minute(of.last));
    if first == last {
        format!("{first} UTC")
    } else if first[..10] == last[..10] {
        format!("{first} to {} UTC", &last[11..])
    } else {
        format!("{first} to {last} UTC")
    }
}

/// Marks beside numbers and the notes that they refer to, each text once.
#[derive(Default)]
struct Footnotes {
    notes: Vec<String>,
}

impl Footnotes {
    fn mark(&mut self, note: String) -> String {
        let place = self.notes.iter().position(|known| *known == note).unwrap_or_else(|| {
            self.notes.push(note);
            self.notes.len() - 1
        });
        superscript(place + 1)
    }
}

fn superscript(number: usize) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let value = |digit: char| digit.to_digit(10).expect("a number prints as digits") as usize;
    number.to_string().chars().map(|digit| digits[value(digit)]).collect()
}

fn group_table(entries: &[Entry<'_>], colour: bool) -> String {
    let group = &entries[0].row.record.case.id.group;
    let mut out = format!("{}\n", Paint::Bold.on(group, colour));
    for prose in prose(entries) {
        for part in wrap(prose, WIDTH - 2) {
            out.push_str(&format!("  {part}\n"));
        }
    }
    if let Some(outcome) = common_failure(entries) {
        let text = format!("all {}: {outcome}", units::count(entries.len(), "case"));
        for part in wrap(&text, WIDTH - 4) {
            out.push_str(&format!("    {}\n", Paint::Warn.on(&part, colour)));
        }
        return out;
    }
    let level = level(entries);
    let interval = level.map(|level| format!(" [{level}%]")).unwrap_or_default();
    let (time, speedup) = (format!("time{interval}"), format!("speed-up{interval}"));
    let columns = [
        ("", Align::Left),
        (time.as_str(), Align::Left),
        (speedup.as_str(), Align::Left),
        ("weights MiB", Align::Left),
        ("step MiB", Align::Right),
        ("SQNR", Align::Right),
        ("", Align::Left),
    ];
    let weights_width = entries.iter().map(|entry| weights(entry).len()).max().unwrap_or(0);
    let mut footnotes = Footnotes::default();
    let mut lines = Vec::new();
    for parameter in gather(entries.iter().copied(), |entry| &entry.row.record.case.id.parameter) {
        let case = &parameter[0].row.record.case;
        let names = &case.shape_names;
        let names =
            if names.is_empty() { String::new() } else { format!("  ({})", names.join(", ")) };
        let heading = format!("  {}{names}", case.id.parameter);
        lines.push(Line::Text(Cell::new(heading, Paint::Dim)));
        lines.extend(parameter.iter().map(|entry| line(entry, weights_width, &mut footnotes)));
    }
    out.push_str(&render(&columns, &lines, 4, WIDTH, colour));
    for (index, note) in footnotes.notes.iter().enumerate() {
        let mark = superscript(index + 1);
        for (line, part) in wrap(note, WIDTH - 6).iter().enumerate() {
            let mark = if line == 0 { mark.as_str() } else { "" };
            out.push_str(&format!("    {}\n", Paint::Warn.on(&format!("{mark:2}{part}"), colour)));
        }
    }
    out
}

/// What the configs say about these cases, each text once.
fn prose<'a>(entries: &[Entry<'a>]) -> Vec<&'a str> {
    let mut texts = Vec::new();
    for text in
        entries.iter().filter_map(|entry| entry.row.record.case.settings.analysis.as_deref())
    {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// `skipped: …` when all of several cases ended so, for the same reason: a suite for a device that
/// is not there is one line, not hundreds.
fn common_failure(entries: &[Entry<'_>]) -> Option<String> {
    let outcome = &entries[0].row.record.outcome;
    let reason = outcome.reason()?;
    let common =
        entries.len() > 1 && entries.iter().all(|entry| entry.row.record.outcome == *outcome);
    common.then(|| format!("{}: {reason}", outcome.status()))
}

fn weights(entry: &Entry<'_>) -> String {
    entry.row.record.memory.map(|memory| units::mib(memory.weights_bytes)).unwrap_or_default()
}

/// The one confidence level of all intervals, in percent.
fn level(entries: &[Entry<'_>]) -> Option<String> {
    let times = entries.iter().filter_map(|entry| entry.row.time.as_ref().ok());
    let levels: BTreeSet<String> = times
        .filter(|time| time.interval.is_some())
        .map(|time| format!("{}", (time.confidence_level * 1e4).round() / 1e2))
        .collect();
    match levels.len() {
        1 => levels.into_iter().next(),
        _ => None,
    }
}

fn line(entry: &Entry<'_>, weights_width: usize, footnotes: &mut Footnotes) -> Line {
    let record = &entry.row.record;
    let variant = Cell::from(record.case.id.variant.as_str());
    if let Some(reason) = record.outcome.reason() {
        let paint = if record.outcome.is_failure() { Paint::Bad } else { Paint::Warn };
        return Line::Spanning(
            variant,
            Cell::new(format!("{}: {reason}", record.outcome.status()), paint),
        );
    }
    let mut marks = Vec::new();
    let mut note = |text: String| marks.push(footnotes.mark(text));
    let time = match &entry.row.time {
        Ok(time) => {
            if time.quick {
                note("quick mode: two samples, so no interval".to_owned());
            }
            units::time_with_interval(time.median_ns, time.interval).into()
        }
        Err(NoTime::NotMeasured) => Cell::new(record.outcome.status(), Paint::Warn),
        Err(why) => {
            note(why.to_string());
            Cell::new(
                if matches!(why, NoTime::Stale { .. }) { "stale" } else { "no time" },
                Paint::Warn,
            )
        }
    };
    let mut speedup = Cell::default();
    let mut weights = format!("{:>weights_width$}", weights(entry));
    if let Some(comparison) = entry.comparison {
        match &comparison.speedup {
            Ok(value) => {
                speedup = Cell::new(units::ratio(value.ratio, value.interval), paint(value));
                comparison.cautions.iter().for_each(|caution| note(caution.to_string()));
            }
            // That the row has no time is said already.
            Err(why) if entry.row.time.is_ok() => note(why.to_string()),
            Err(_) => {}
        }
        if let Some(fraction) = comparison.weights_reduction {
            weights.push_str(&format!(" {:>6}", units::reduction(fraction)));
        }
    }
    record.notes.iter().for_each(|text| note(text.clone()));
    let memory = record.memory;
    Line::Cells(vec![
        variant,
        time,
        speedup,
        if memory.is_some() { weights.into() } else { Cell::default() },
        memory.map(|memory| units::mib(memory.step.peak_bytes)).unwrap_or_default().into(),
        record
            .accuracy
            .map(|accuracy| units::decibels(accuracy.sqnr_db.0))
            .unwrap_or_default()
            .into(),
        Cell::new(marks.join(" "), Paint::Warn),
    ])
}

/// Green or red only where the interval says so.
fn paint(speedup: &Speedup) -> Paint {
    match speedup.interval {
        Some(interval) if interval.low > 1.0 => Paint::Good,
        Some(interval) if interval.high < 1.0 => Paint::Bad,
        _ => Paint::Plain,
    }
}

/// How the cases ended, and what the reader of the table must know besides.
fn footer(report: &Report, colour: bool) -> String {
    let shown = report.entries().count();
    let mut outcomes = report.outcomes();
    // What went well comes first.
    outcomes.sort_by_key(|(status, _)| *status != Outcome::Measured.status());
    let outcomes: Vec<String> =
        outcomes.iter().map(|(status, cases)| format!("{cases} {status}")).collect();
    let mut out = format!("{}: {}", units::count(shown, "case"), outcomes.join(", "));
    if shown < report.rows_read() {
        out.push_str(&format!(" (of {} recorded)", report.rows_read()));
    }
    out.push('\n');
    let measured = Outcome::Measured.status();
    let without = report
        .entries()
        .filter(|entry| entry.row.record.outcome.status() == measured && entry.row.time.is_err())
        .count();
    let mut notes = Vec::new();
    if without > 0 {
        notes.push(format!("{} measured without a usable estimate", units::count(without, "case")));
    }
    for missing in &report.missing {
        notes.push(format!("{}: {}", missing.full_id, missing.reason));
    }
    if !report.foreign.is_empty() {
        notes.push(format!(
            "{} in criterion's folder without a record not shown, e.g. {}",
            units::count(report.foreign.len(), "result"),
            report.foreign[0],
        ));
    }
    notes.extend(report.warnings.iter().cloned());
    for note in notes {
        for (line, part) in wrap(&note, WIDTH - 2).iter().enumerate() {
            let mark = if line == 0 { "!" } else { " " };
            out.push_str(&format!("{}\n", Paint::Warn.on(&format!("{mark} {part}"), colour)));
        }
    }
    out
}
