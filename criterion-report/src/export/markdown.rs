//! A comment for a pull request. GitHub takes 65 536 characters; what does not fit is counted.

use std::io::Write;

use anyhow::Result;

use crate::model::{
    Circumstances, Entry, Field, Figure, Interval, NoTime, Row, fingerprint, gather,
};
use crate::read::Report;
use crate::render::markdown::{code, or_absent, plain, reason, revision, table};
use crate::render::table::Align;
use crate::render::units;
use crate::views::footnotes::{Footnotes, Note};
use crate::views::written::Notes;

/// The most characters of a comment, a little below what GitHub takes.
const MOST: usize = 65_000;
/// Characters reserved for the note on what was cut.
const RESERVE: usize = 200;

struct Comment {
    text: String,
    characters: usize,
}

impl Comment {
    /// Adds a part as a whole, or not at all.
    fn add(&mut self, part: &str) -> bool {
        let characters = part.chars().count();
        let fits = self.characters + characters <= MOST - RESERVE;
        if fits {
            self.text.push_str(part);
            self.characters += characters;
        }
        fits
    }
}

pub fn write(report: &Report, out: &mut dyn Write) -> Result<Notes> {
    let mut comment = Comment { text: String::new(), characters: 0 };
    comment.add(&heading(report));
    let groups = gather(report.entries(), |entry| &entry.row.record.case.id.group);
    let mut groups = groups.into_iter().peekable();
    let mut cut = 0;
    while let Some(group) = groups.next_if(|_| cut == 0) {
        cut = add_group(&mut comment, &group);
    }
    cut += groups.map(|group| group.len()).sum::<usize>();
    if !add_missing(&mut comment, report) {
        cut += report.missing.len();
    }
    if cut > 0 {
        let cases = units::count(cut, "case");
        comment.text.push_str(&format!(
            "\n**{cases} not shown**: a comment has room for {MOST} characters; `criterion-report \
             show` has all.\n"
        ));
    }
    out.write_all(comment.text.as_bytes())?;
    Ok(Notes::new())
}

/// A line for each machine and revision, and how the cases ended.
fn heading(report: &Report) -> String {
    let outcomes: Vec<String> =
        report.outcomes().iter().map(|(status, cases)| format!("{cases} {status}")).collect();
    let missing = report.missing.len();
    let missing = if missing > 0 { format!(", {missing} missing") } else { String::new() };
    let mut out = format!(
        "### Benchmarks: {}\n\n{}{missing}",
        code(&report.baseline),
        if outcomes.is_empty() { "no case".to_owned() } else { outcomes.join(", ") },
    );
    for shared in report.circumstances.iter().take(MACHINES) {
        out.push_str(&format!(" · {}", measured(shared)));
    }
    let more = report.circumstances.len().saturating_sub(MACHINES);
    if more > 0 {
        out.push_str(&format!(" · and {}", units::count(more, "further circumstance")));
    }
    out.push('\n');
    let unusable = report.unreadable.len();
    if unusable > 0 {
        out.push_str(&format!("\n**{} cannot be used**\n", units::count(unusable, "input")));
    }
    out
}

const MACHINES: usize = 3;

fn measured(shared: &Circumstances) -> String {
    let environment = &shared.environment;
    let devices = shared.cuda_devices.iter().cloned();
    let machine: Vec<String> =
        std::iter::once(environment.host.cpu_model.clone()).chain(devices).collect();
    let git = environment.git_revision.as_deref().map(revision);
    format!(
        "{}, libtorch {}, git {}, {} UTC",
        plain(&machine.join(", ")),
        plain(&environment.torch.libtorch),
        git.as_deref().unwrap_or("none"),
        units::minute(shared.last),
    )
}

/// Adds as many cases of a group as fit; how many do not.
fn add_group(comment: &mut Comment, group: &[Entry<'_>]) -> usize {
    let text = group_text(group);
    if comment.add(&text) {
        return 0;
    }
    // The largest beginning that fits: its length grows with the number of cases.
    let fits = |cases: &usize| {
        let characters = group_text(&group[..*cases]).chars().count();
        comment.characters + characters <= MOST - RESERVE
    };
    let counts: Vec<usize> = (1..group.len()).collect();
    let fitting = counts.partition_point(fits);
    if fitting > 0 {
        comment.add(&group_text(&group[..fitting]));
    }
    group.len() - fitting
}

fn group_text(group: &[Entry<'_>]) -> String {
    let mut columns = vec![
        ("case", Align::Left),
        ("time", Align::Right),
        ("speed-up", Align::Right),
        ("peak memory", Align::Right),
        ("SQNR dB", Align::Right),
        ("", Align::Left),
    ];
    let mut footnotes = Footnotes::default();
    let mut rows: Vec<Vec<String>> = group.iter().map(|entry| row(entry, &mut footnotes)).collect();
    // Rows have numbers where a report has several machines.
    if group.iter().any(|entry| entry.row.machine.is_some()) {
        columns.insert(MACHINE, ("machine", Align::Left));
        for (cells, entry) in rows.iter_mut().zip(group) {
            cells.insert(MACHINE, plain(&fingerprint(&entry.row.record)));
        }
    }
    let mut out = format!("\n#### {}\n\n", code(&group[0].row.record.case.id.group));
    out.push_str(&table(&columns, &rows));
    for (index, text) in footnotes.texts().enumerate() {
        out.push_str(&format!("\n{}. {}", index + 1, reason(text)));
    }
    if footnotes.texts().len() > 0 {
        out.push('\n');
    }
    out
}

/// The place of the machine's column, before the marks of the notes.
const MACHINE: usize = 5;

fn row(entry: &Entry<'_>, footnotes: &mut Footnotes) -> Vec<String> {
    let id = &entry.row.record.case.id;
    let case = code(&format!("{}/{}", id.variant, id.parameter));
    let value = |name| {
        let field = Field::named(name)?;
        Some(field.text(field.value(entry)?, false))
    };
    let marks =
        footnotes.numbers(notes(entry)).into_iter().map(|(number, figures)| match figures {
            Some(figures) => format!("{number}: {figures}"),
            None => number.to_string(),
        });
    let marks: Vec<String> = marks.collect();
    let marks = if marks.is_empty() { String::new() } else { format!("({})", marks.join(", ")) };
    let speedup = Field::known("speedup").figure(entry);
    vec![
        case,
        time(entry.row),
        or_absent(speedup.map(|it| with_half_width(units::ratio(it.value, None), it))),
        or_absent(value("peak-memory")),
        or_absent(value("sqnr")),
        marks,
    ]
}

fn time(row: &Row) -> String {
    match &row.time {
        Ok(time) => {
            let figure = Figure { value: time.median_ns, interval: time.interval };
            with_half_width(units::time(time.median_ns), figure)
        }
        Err(NoTime::NotMeasured) => row.record.outcome.status().to_owned(),
        Err(why) => if why.is_stale() { "stale" } else { "no time" }.to_owned(),
    }
}

/// `12.34 ms ± 0.5 %`: half the interval's width, relative to the value.
fn with_half_width(text: String, Figure { value, interval }: Figure) -> String {
    match interval.map(|interval: Interval| interval.half_width(value)) {
        Some(half_width) => format!("{text} ± {}", units::percent(half_width)),
        None => text,
    }
}

/// Why a number is missing, and what qualifies those that are there; as one text each.
fn notes(entry: &Entry<'_>) -> Vec<Note> {
    let mut notes: Vec<Note> = entry.row.reason().into_iter().map(Note::from).collect();
    let measured = entry.row.record.outcome == plan::Outcome::Measured;
    if let Some(Err(why)) = entry.comparison.map(|it| &it.gain)
        && measured
    {
        notes.push(format!("no speed-up: {why}").into());
    }
    notes.extend(entry.cautions().iter().map(Note::from));
    notes
}

fn add_missing(comment: &mut Comment, report: &Report) -> bool {
    if report.missing.is_empty() {
        return true;
    }
    let columns = [("missing", Align::Left), ("", Align::Left)];
    let rows: Vec<Vec<String>> =
        report.missing.iter().map(|case| vec![code(&case.full_id), reason(&case.reason)]).collect();
    comment.add(&format!("\n{}", table(&columns, &rows)))
}
