//! The second tables: what is measured besides time, speed-up and accuracy.

use plan::{
    Accuracy, Conditions, Counters, Energy, Latency, Measures, Memory, Outcome, Range, Utilization,
    Weights,
};

use super::footnotes::Footnotes;
use super::group::parameter_heading;
use super::{ABSENT, parameters};
use crate::model::{Entry, Row};
use crate::units;
use crate::write::table::{Align, Cell, Line, clear, render, table_width};

/// A value; where its measure is there without it, why; nothing where the measure is absent, which
/// has its reason in the record.
type Value = Option<Result<String, &'static str>>;

/// A column: its heading, the measure that it is of, and its value.
struct Column(&'static str, &'static str, fn(&Row) -> Value);

/// A table: what stands above the variants, and the other columns.
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
    Section { title: "latency", columns: LATENCY, optional: false },
    // Records of before there were any have no weights.
    Section { title: "weights", columns: WEIGHTS, optional: true },
    Section { title: "accuracy", columns: ACCURACY, optional: true },
    Section { title: "against eager", columns: AGREEMENT, optional: true },
    // Operators alone have further gates.
    Section { title: "gates", columns: GATES, optional: true },
    Section { title: "memory", columns: MEMORY, optional: false },
    Section { title: "counted per step", columns: COUNTED, optional: false },
    Section { title: "energy, clock", columns: CONDITIONS, optional: false },
    // Only a device that works beside the host has two.
    Section { title: "two clocks, in use", columns: CLOCKS, optional: true },
];

const LATENCY: &[Column] = &[
    Column("calls", "latency", |r| ok(latency(r)?.calls.to_string())),
    Column("p50", "latency", |r| ok(units::time(latency(r)?.p50_ns))),
    Column("p90", "latency", |r| Some(latency(r)?.p90_ns.map(units::time).ok_or(FEW_CALLS))),
    Column("p99", "latency", |r| Some(latency(r)?.p99_ns.map(units::time).ok_or(FEW_CALLS))),
    Column("max", "latency", |r| ok(units::time(latency(r)?.max_ns))),
    Column("first call", "first_call_ns", |r| ok(units::time(m(r).first_call_ns? as f64))),
    Column("steps/s", "", |r| ok(units::significant(r.steps_per_s()?, 4))),
    Column("GFLOP/s", "", |r| ok(units::significant(r.gflop_per_s()?, 4))),
    // Only operators and probes have one.
    Column(RATE, "", |r| ok(r.gb_per_s().map(|it| units::significant(it, 4)).unwrap_or_default())),
];

const WEIGHTS: &[Column] = &[
    Column("quantized", "", |r| {
        let Weights { quantized, linears, .. } = weights(r)?;
        ok(format!("{quantized} of {linears}"))
    }),
    Column("bits/weight", "", |r| ok(units::significant(weights(r)?.bits_per_weight, 5))),
    Column("stored", "", |r| ok(units::bytes(weights(r)?.packed_bytes))),
    Column("unquantized", "", |r| ok(units::bytes(weights(r)?.baseline_bytes))),
    Column("stored/unquantized", "", |r| {
        let Weights { packed_bytes, baseline_bytes, .. } = weights(r)?;
        ok(units::percent(packed_bytes as f64 / baseline_bytes as f64))
    }),
    // Without a sparse case the column is left out.
    Column("density", "", |r| ok(weights(r)?.density.map(units::percent).unwrap_or_default())),
];

const ACCURACY: &[Column] = &[
    Column("SQNR dB", "", |r| ok(units::decibels(accuracy(r)?.sqnr_db.0))),
    Column("gate dB", "", |r| ok(units::decibels(accuracy(r)?.min_sqnr_db))),
    Column("max abs error", "", |r| ok(units::error(accuracy(r)?.max_abs_error.0))),
    Column("relative error", "", |r| ok(units::error(accuracy(r)?.relative_error.0))),
    Column("rows checked", "", |r| ok(accuracy(r)?.rows_checked.to_string())),
];

const AGREEMENT: &[Column] = &[
    Column("SQNR dB", "", |r| ok(units::decibels(accuracy(r)?.eager?.sqnr_db.0))),
    Column("gate dB", "", |r| ok(units::decibels(accuracy(r)?.eager?.min_sqnr_db))),
    Column("max abs difference", "", |r| ok(units::error(accuracy(r)?.eager?.max_abs_error.0))),
];

const GATES: &[Column] = &[
    Column("passed", "", |r| {
        let count = accuracy(r)?.gates.len();
        (count > 0).then(|| Ok(count.to_string()))
    }),
    Column("worst", "", |r| ok(units::error(r.worst_gate()?.worst.0))),
    Column("with inputs", "", |r| ok(r.worst_gate()?.inputs.clone())),
    Column("of size", "", |r| {
        let size: Vec<String> = r.worst_gate()?.size.iter().map(u64::to_string).collect();
        ok(size.join("x"))
    }),
];

const MEMORY: &[Column] = &[
    Column("weights", "memory", |r| ok(units::bytes(memory(r)?.weights_bytes))),
    Column("inputs", "memory", |r| ok(units::bytes(memory(r)?.inputs_bytes))),
    // Few cases have one beforehand: without any, the column is left out.
    Column("outputs", "memory", |r| ok(held(memory(r)?.outputs_bytes))),
    Column("step peak", "memory", |r| ok(units::bytes(memory(r)?.step.peak_bytes))),
    Column("step total", "memory", |r| ok(units::bytes(memory(r)?.step.total_bytes))),
    Column("allocs", "memory", |r| ok(memory(r)?.step.allocations.to_string())),
];

const COUNTED: &[Column] = &[
    Column("page faults", "counters", |r| ok(count(counters(r)?.minor_faults))),
    Column("from disk", "counters", |r| ok(count(counters(r)?.major_faults))),
    Column("of time", "counters", |r| {
        Some(
            counters(r)?
                .fault_share
                .map(units::percent)
                .ok_or("the cost of a page fault is not known"),
        )
    }),
    Column("waits", "counters", |r| ok(count(counters(r)?.voluntary_switches))),
    Column("preempted", "counters", |r| ok(count(counters(r)?.involuntary_switches))),
    Column("CPU time", "counters", |r| {
        ok(units::time(counters(r)?.user_ns + counters(r)?.system_ns))
    }),
    Column("in kernel", "counters", |r| ok(units::time(counters(r)?.system_ns))),
];

const CONDITIONS: &[Column] = &[
    Column("J/step", "energy", |r| ok(units::significant(energy(r)?.joules, 3))),
    Column("W", "energy", |r| ok(units::significant(energy(r)?.watts, 3))),
    Column("MHz", "conditions", |r| Some(conditions(r)?.clock_mhz.map(range).ok_or(HIDDEN))),
    Column("°C", "conditions", |r| Some(conditions(r)?.temperature_c.map(range).ok_or(HIDDEN))),
    Column("throttled", "conditions", |r| {
        ok(if conditions(r)?.throttle_reasons.is_empty() { "no" } else { "yes" }.to_owned())
    }),
    Column("retaken", "conditions", |r| ok(conditions(r)?.discarded_samples.to_string())),
    Column("steal", "conditions", |r| {
        Some(conditions(r)?.steal.map(units::percent).ok_or("the system does not count it"))
    }),
];

const CLOCKS: &[Column] = &[
    Column("device", "clocks", |r| ok(units::time(m(r).clocks?.device_ns))),
    Column("host", "clocks", |r| ok(units::time(m(r).clocks?.host_ns))),
    Column("queueing", "clocks", |r| ok(units::time(m(r).clocks?.queue_ns))),
    Column("SM", "utilization", |r| ok(percents(utilization(r)?.sm))),
    Column("memory", "utilization", |r| ok(percents(utilization(r)?.memory))),
];

const FEW_CALLS: &str = "too few calls: p90 takes 50 calls and p99 500, so that five lie beyond it";
const HIDDEN: &str = "the processor does not show it";

/// The tables of one group, for the cases that were measured.
pub fn tables(
    entries: &[Entry<'_>],
    footnotes: &mut Footnotes,
    width: usize,
    colour: bool,
) -> String {
    let measured = entries.iter().filter(|entry| entry.row.record.outcome == Outcome::Measured);
    let measured: Vec<Entry<'_>> = measured.copied().collect();
    let mut out = String::new();
    for section in SECTIONS {
        let has_value =
            |entry: &Entry<'_>| section.columns.iter().any(|it| it.2(entry.row).is_some());
        if measured.is_empty() || section.optional && !measured.iter().any(has_value) {
            continue;
        }
        let mut headings = vec![(section.title, Align::Left)];
        headings.extend(section.columns.iter().map(|column| (column.0, Align::Right)));
        let mut lines = Vec::new();
        for siblings in parameters(measured.iter().copied()) {
            lines.push(parameter_heading(&siblings[0]));
            lines.extend(siblings.iter().map(|entry| line(section, entry.row, footnotes)));
        }
        if table_width(&headings, &lines, 4) > width
            && let Some(rate) = headings.iter().position(|(heading, _)| *heading == RATE)
        {
            clear(rate, &mut lines);
        }
        out.push('\n');
        out.push_str(&render(&headings, &lines, 4, width, colour));
    }
    out.push_str(&kernels(&measured, width, colour));
    out
}

/// What did each variant's work, once where it is the same for all shapes.
fn kernels(entries: &[Entry<'_>], width: usize, colour: bool) -> String {
    let mut lines = Vec::new();
    for record in entries.iter().map(|entry| &entry.row.record) {
        let kernels = Cell::from(record.kernels.join(", "));
        let line = Line::Spanning(record.case.variant().into(), kernels);
        if !record.kernels.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let columns = [("kernels", Align::Left), ("", Align::Left)];
    format!("\n{}", render(&columns, &lines, 4, width, colour))
}

fn line(section: &Section, row: &Row, footnotes: &mut Footnotes) -> Line {
    let mut cells = vec![Cell::from(row.record.case.variant())];
    cells.extend(section.columns.iter().map(|column| cell(column, row, footnotes)));
    Line::Cells(cells)
}

fn cell(Column(_, measure, value): &Column, row: &Row, footnotes: &mut Footnotes) -> Cell {
    let why = match value(row) {
        Some(Ok(value)) => return value.into(),
        Some(Err(why)) => Some(why.to_owned()),
        None => m(row).absent.get(*measure).map(|why| format!("{}: {why}", name(measure))),
    };
    let mark = why.map(|why| format!(" {}", footnotes.mark(why)));
    format!("{ABSENT}{}", mark.unwrap_or_default()).into()
}

/// A measure's name in the record, as people call it.
fn name(measure: &str) -> &str {
    match measure {
        "first_call_ns" => "first call",
        other => other,
    }
}

fn ok(value: String) -> Value {
    Some(Ok(value))
}

const fn m(row: &Row) -> &Measures {
    &row.record.measures
}

const fn latency(row: &Row) -> Option<Latency> {
    m(row).latency
}

const fn memory(row: &Row) -> Option<Memory> {
    m(row).memory
}

const fn weights(row: &Row) -> Option<Weights> {
    row.record.weights
}

fn accuracy(row: &Row) -> Option<&Accuracy> {
    row.accuracy()
}

const fn counters(row: &Row) -> Option<Counters> {
    m(row).counters
}

const fn energy(row: &Row) -> Option<&Energy> {
    m(row).energy.as_ref()
}

const fn utilization(row: &Row) -> Option<&Utilization> {
    m(row).utilization.as_ref()
}

const fn conditions(row: &Row) -> Option<&Conditions> {
    m(row).conditions.as_ref()
}

/// Nothing where there is nothing.
fn held(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { units::bytes(bytes) }
}

/// A mean count per step: two decimals below ten, none of three digits and more.
fn count(per_step: f64) -> String {
    let decimals = match per_step {
        0.0 => 0,
        few if few < 10.0 => 2,
        some if some < 100.0 => 1,
        _ => 0,
    };
    format!("{per_step:.decimals$}")
}

/// `2450 [2441, 2450]`: median, lowest and highest.
fn range(Range { min, median, max }: Range) -> String {
    format!("{median:.0} [{min:.0}, {max:.0}]")
}

/// `98 % [97, 99]`: median, lowest and highest share, which NVML gives in whole percents.
fn percents(Range { min, median, max }: Range) -> String {
    format!("{:.0} % [{:.0}, {:.0}]", median * 100.0, min * 100.0, max * 100.0)
}
