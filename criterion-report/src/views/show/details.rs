//! The second tables: what is measured besides time, speed-up and accuracy.

use plan::{Outcome, Range};

use super::{ABSENT, INDENT, by_parameter, further, profile};
use crate::model::{Entry, Field, Value};
use crate::render::table::{Align, Cell, Line, clear, table_width};
use crate::render::units;
use crate::views::footnotes::Footnotes;
use crate::views::view::Room;

struct Column {
    heading: &'static str,
    field: &'static Field,
    text: fn(&Field, Value<'_>) -> String,
    /// A field beside which it is empty where it is absent: few cases have it.
    rare_beside: Option<&'static Field>,
}

const fn column(heading: &'static str, field: &str) -> Column {
    Column { heading, field: Field::known(field), text: in_its_unit, rare_beside: None }
}

impl Column {
    const fn as_(self, text: fn(&Field, Value<'_>) -> String) -> Self {
        Self { text, ..self }
    }

    const fn rare_beside(self, field: &str) -> Self {
        Self { rare_beside: Some(Field::known(field)), ..self }
    }
}

/// A table: the heading above the variants, and the other columns.
struct Section {
    title: &'static str,
    columns: &'static [Column],
    /// Whether it is left out where no case has any of its values.
    optional: bool,
}

/// The column of `latency` that the first table has of those that have it, which gives way where a
/// variant's name leaves no room.
const RATE: &str = "GB/s";

const SECTIONS: &[Section] = &[
    Section {
        title: "latency",
        columns: &[
            column("calls", "latency-calls"),
            column("p50", "latency-p50"),
            column("p90", "latency-p90"),
            column("p99", "latency-p99"),
            column("max", "latency-max"),
            column("first call", "first-call"),
            column("steps/s", "throughput").as_(digits::<4>),
            column("GFLOP/s", "gflops").as_(digits::<4>),
            // Only operators and probes have one.
            column(RATE, "bandwidth").as_(digits::<4>).rare_beside("full-id"),
        ],
        optional: false,
    },
    // Older records have no weights.
    Section {
        title: "weights",
        columns: &[
            column("quantized", "quantized-linears"),
            column("bits/weight", "bits-per-weight").as_(digits::<5>),
            column("stored", "packed-weight-bytes"),
            column("unquantized", "baseline-weight-bytes"),
            column("stored/unquantized", "stored-share"),
            // Without a sparse case the column is left out.
            column("density", "density").rare_beside("linears"),
        ],
        optional: true,
    },
    Section {
        title: "accuracy",
        columns: &[
            column("SQNR dB", "sqnr"),
            column("gate dB", "sqnr-gate"),
            column("max abs error", "max-abs-error"),
            column("relative error", "relative-error"),
            column("rows checked", "rows-checked"),
        ],
        optional: true,
    },
    Section {
        title: "against eager",
        columns: &[
            column("SQNR dB", "eager-sqnr"),
            column("gate dB", "eager-min-sqnr"),
            column("max abs difference", "eager-max-abs-error"),
        ],
        optional: true,
    },
    // Operators alone have further gates.
    Section {
        title: "gates",
        columns: &[
            column("passed", "gates-passed"),
            column("worst", "worst-gate"),
            column("with inputs", "worst-gate-inputs"),
            column("of size", "worst-gate-size"),
        ],
        optional: true,
    },
    Section {
        title: "memory",
        columns: &[
            column("weights", "weights-memory"),
            column("inputs", "inputs-bytes"),
            // Few cases have one beforehand: without any, the column is left out.
            column("outputs", "outputs-bytes").as_(any_bytes),
            column("step peak", "step-memory"),
            column("step total", "step-total-bytes"),
            column("allocs", "step-allocations"),
        ],
        optional: false,
    },
    Section {
        title: "counted per step",
        columns: &[
            column("page faults", "page-faults").as_(count),
            column("from disk", "major-faults-per-step").as_(count),
            column("of time", "fault-share"),
            column("waits", "voluntary-switches-per-step").as_(count),
            column("preempted", "involuntary-switches-per-step").as_(count),
            column("CPU time", "cpu-time"),
            column("in kernel", "cpu-system"),
        ],
        optional: false,
    },
    Section {
        title: "energy, clock",
        columns: &[
            column("J/step", "energy").as_(digits::<3>),
            column("W", "energy-watts").as_(digits::<3>),
            column("MHz", "clock").as_(readings),
            column("°C", "temperature").as_(readings),
            column("throttled", "throttled"),
            column("retaken", "discarded-samples"),
            column("steal", "steal"),
        ],
        optional: false,
    },
    // Only a device that works beside the host has two.
    Section {
        title: "two clocks, in use",
        columns: &[
            column("device", "device-time"),
            column("host", "host-time"),
            column("queueing", "queue-time"),
            column("SM", "sm-utilization").as_(percents),
            column("memory", "memory-utilization").as_(percents),
        ],
        optional: true,
    },
];

/// The tables of one group, for the cases that were measured.
pub fn tables(entries: &[Entry<'_>], footnotes: &mut Footnotes, room: Room) -> String {
    let measured = entries.iter().filter(|entry| entry.row.record.outcome == Outcome::Measured);
    let measured: Vec<Entry<'_>> = measured.copied().collect();
    let mut out = String::new();
    for section in SECTIONS {
        let has_value =
            |entry: &Entry<'_>| section.columns.iter().any(|it| it.field.value(entry).is_some());
        if measured.is_empty() || section.optional && !measured.iter().any(has_value) {
            continue;
        }
        let mut headings = vec![(section.title, Align::Left)];
        headings.extend(section.columns.iter().map(|column| (column.heading, Align::Right)));
        let entries = measured.iter().copied();
        let mut lines = by_parameter(entries, |entry| [line(section, entry, footnotes)]);
        if table_width(&headings, &lines, INDENT) > room.width
            && let Some(rate) = headings.iter().position(|(heading, _)| *heading == RATE)
        {
            clear(rate, &mut lines);
        }
        out.push_str(&further(&headings, &lines, room));
    }
    out.push_str(&profile::table(&measured, footnotes, room));
    out.push_str(&kernels(&measured, room));
    out.push_str(&notes(entries, footnotes, room));
    out
}

/// The notes of each case that have figures of its own.
fn notes(entries: &[Entry<'_>], footnotes: &Footnotes, room: Room) -> String {
    let lines = by_parameter(entries.iter().copied(), |entry| {
        let variant = entry.row.record.case.variant();
        super::notes(entry).into_iter().filter_map(move |note| {
            let text = format!("{} {}", footnotes.mark_of_differing(&note)?, note.whole);
            Some(Line::Spanning(variant.clone().into(), text.into()))
        })
    });
    further(&[("notes", Align::Left), ("", Align::Left)], &lines, room)
}

/// The kernels of each variant, once if they are the same for all shapes.
fn kernels(entries: &[Entry<'_>], room: Room) -> String {
    let mut lines = Vec::new();
    for record in entries.iter().map(|entry| &entry.row.record) {
        let kernels = Cell::from(record.kernels.join(", "));
        let line = Line::Spanning(record.case.variant().into(), kernels);
        if !record.kernels.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    further(&[("kernels", Align::Left), ("", Align::Left)], &lines, room)
}

fn line(section: &Section, entry: &Entry<'_>, footnotes: &mut Footnotes) -> Line {
    let mut cells = vec![Cell::from(entry.row.record.case.variant())];
    cells.extend(section.columns.iter().map(|column| cell(column, entry, footnotes)));
    Line::Cells(cells)
}

fn cell(column: &Column, entry: &Entry<'_>, footnotes: &mut Footnotes) -> Cell {
    let Column { field, text, rare_beside, .. } = *column;
    match field.value(entry) {
        Some(value) => text(field, value).into(),
        None if rare_beside.is_some_and(|it| it.value(entry).is_some()) => Cell::default(),
        None => {
            let mark = field.absent(entry).map(|why| format!(" {}", footnotes.mark(why)));
            format!("{ABSENT}{}", mark.unwrap_or_default()).into()
        }
    }
}

fn in_its_unit(field: &Field, value: Value<'_>) -> String {
    field.text(value, true)
}

fn digits<const N: i32>(_: &Field, value: Value<'_>) -> String {
    value.figure().map(|it| units::significant(it.value, N)).unwrap_or_default()
}

/// Nothing where there is nothing.
fn any_bytes(field: &Field, value: Value<'_>) -> String {
    if value == Value::Count(0) { String::new() } else { in_its_unit(field, value) }
}

/// A mean count per step: two decimals below ten, none of three digits and more.
fn count(_: &Field, per_step: Value<'_>) -> String {
    let per_step = per_step.figure().map_or(f64::NAN, |it| it.value);
    let decimals = match per_step {
        0.0 => 0,
        few if few < 10.0 => 2,
        some if some < 100.0 => 1,
        _ => 0,
    };
    format!("{per_step:.decimals$}")
}

/// `2450 [2441, 2450]`: median, lowest and highest.
fn readings(field: &Field, value: Value<'_>) -> String {
    match value {
        Value::Range(Range { min, median, max }) => format!("{median:.0} [{min:.0}, {max:.0}]"),
        other => in_its_unit(field, other),
    }
}

/// `98 % [97, 99]`: median, lowest and highest share, which NVML gives in whole percents.
fn percents(field: &Field, value: Value<'_>) -> String {
    match value.per(0.01) {
        Value::Range(Range { min, median, max }) => format!("{median:.0} % [{min:.0}, {max:.0}]"),
        other => in_its_unit(field, other),
    }
}
