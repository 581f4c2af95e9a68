//! The summary of a machine's profile, ours or upstream's, for people.

mod fusion;
mod measured;

use std::collections::BTreeMap;

use plan::CheckStatus;
use serde_json::{Map, Value};

use crate::order::Order as _;
use crate::render::table::{
    ABSENT, Align, Cell, Line, NARROWEST, Paint, WIDTH, fit, labelled, remarks, render, screen,
    wrap,
};
use crate::render::units;
use crate::views::calibration::{Finding, OperationCalibration, Profile};
use crate::views::footnotes::Footnotes;

/// Title, peaks, what was measured, every operation, the roofline, the machine's checks, fusion.
/// `columns` are the terminal's, if it goes to one.
pub fn write(profile: &Profile, columns: Option<usize>, colour: bool) -> String {
    let width = columns.map_or(WIDTH, |columns| columns.max(NARROWEST));
    let blocks = [
        title(profile, width, colour),
        measured::peaks(profile, width, colour),
        measured::performance(profile, width, colour),
        operations(profile, width, colour),
        measured::rooflines(profile, width, colour),
        checks(profile, width, colour),
        fusion::table(profile, width, colour),
        fusion::strategy(profile, width, colour),
        notes(profile, width, colour),
    ];
    let blocks: Vec<String> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    screen(&blocks.join("\n"), colour)
}

fn title(profile: &Profile, width: usize, colour: bool) -> String {
    let metadata = &profile.metadata;
    let rule = "=".repeat(width);
    let name = format!("Hardware Calibration: {}", metadata.hardware_name);
    let date = format!("Date: {}", metadata.calibration_date);
    let mut out = format!("{rule}\n{}\n{date}\n{rule}\n", Paint::Bold.on(&name, colour));
    for (label, text) in facts(profile) {
        out.push_str(&labelled(label, &text, width, colour));
    }
    out
}

/// Machine and library, as far as the file knows them.
fn facts(profile: &Profile) -> Vec<(&'static str, String)> {
    let metadata = &profile.metadata;
    let memory = format!("{} GiB", units::significant(metadata.total_memory_gb, 3));
    let cpus = units::count(metadata.cpu_count as usize, "CPU");
    let mut machine = format!("{}, {cpus}, {memory}", metadata.cpu_model);
    let mut library = metadata.pytorch_version.clone().unwrap_or_else(|| ABSENT.to_owned());
    let Some(environment) = &profile.environment else {
        return vec![("machine", machine), ("torch", library)];
    };
    let (host, torch) = (&environment.host, &environment.torch);
    machine.push_str(&format!(", {}, {}", host.os, host.hostname));
    machine.extend(torch.cuda_device.iter().map(|device| format!(", {device}")));
    machine.extend(host.governor.iter().map(|governor| format!(", governor {governor}")));
    library.push_str(&format!(", {}", torch.cpu_capability));
    library.push_str(&format!(", float32 matmul {}", torch.float32_matmul_precision));
    let git = environment.git();
    let caches: Vec<String> = host
        .caches
        .iter()
        .map(|it| {
            let shared = units::count(it.cpus as usize, "CPU");
            format!("L{} {} for {shared}", it.level, units::bytes(it.bytes))
        })
        .collect();
    let mut facts = vec![("machine", machine)];
    facts.extend((!caches.is_empty()).then(|| ("caches", caches.join(", "))));
    facts.extend([("libtorch", library), ("git", git.to_owned())]);
    facts
}

fn heading(text: &str, colour: bool) -> String {
    format!("{}\n", Paint::Bold.on(text, colour))
}

/// The checks of the machine before the runs, the worst with their remedies.
fn checks(profile: &Profile, width: usize, colour: bool) -> String {
    let findings = &profile.preflight_checks;
    let Some(first) = findings.first() else { return String::new() };
    let one_run = findings.iter().all(|it| it.run_id == first.run_id);
    let run = if one_run { format!(" (before run {})", first.run_id) } else { String::new() };
    let name_width = findings.iter().map(|it| it.check.name.chars().count()).max().unwrap_or(0);
    let mut out = heading(&format!("Preflight Checks{run}:"), colour);
    for Finding { check, target, .. } in findings {
        let paint = match check.status {
            CheckStatus::Passed => Paint::Good,
            CheckStatus::Warning => Paint::Warn,
            CheckStatus::Failed => Paint::Bad,
            CheckStatus::Skipped => Paint::Dim,
        };
        let before = if one_run { String::new() } else { format!(" (before `{target}`)") };
        let text = match &check.remedy {
            Some(remedy) => format!("{}{before}; {remedy}", check.value),
            None => format!("{}{before}", check.value),
        };
        let indent = 2 + 8 + 1 + name_width + 2;
        for (line, part) in wrap(&text, width - indent).iter().enumerate() {
            let status =
                if line == 0 { check.status.as_str().to_uppercase() } else { String::new() };
            let name = if line == 0 { &*check.name } else { "" };
            let status = paint.on(&format!("{status:8}"), colour);
            out.push_str(&format!("  {status} {name:name_width$}  {part}\n"));
        }
    }
    out
}

/// Notes for readers of the numbers; a peak that is too low shows in any file.
fn notes(profile: &Profile, width: usize, colour: bool) -> String {
    let mut notes = profile.notes.clone();
    let overshoots = profile.overshoots();
    notes.extend(overshoots.into_iter().filter(|note| !profile.notes.contains(note)));
    remarks(&notes, width, colour)
}

/// A rate, four significant digits.
fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| units::significant(value, 4))
}

/// An efficiency, marked where it is above one: the peak that it is relative to is wrong.
fn efficiency(value: Option<f64>) -> (String, Paint) {
    match value {
        None => (ABSENT.to_owned(), Paint::Plain),
        Some(value) if value > 1.0 => (format!("{} !", units::percent(value)), Paint::Warn),
        Some(value) => (units::percent(value), Paint::Plain),
    }
}

fn text<'a>(params: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    params.get(name)?.as_str()
}

fn number(params: &Map<String, Value>, name: &str) -> Option<f64> {
    params.get(name)?.as_f64()
}

fn strings(params: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = params.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|it| Some(it.as_str()?.to_owned())).collect()
}

/// Columns that give way, in this order, where the table is too wide: what bounds an operation,
/// GB/s.
const GIVE_WAY: [usize; 2] = [5, 3];

/// One part per dtype and number of threads, in it one line per operation and size.
fn operations(profile: &Profile, width: usize, colour: bool) -> String {
    let columns = [
        ("operation", Align::Left),
        ("size", Align::Right),
        ("GFLOP/s", Align::Right),
        ("GB/s", Align::Right),
        ("efficiency", Align::Right),
        ("bound", Align::Left),
        ("", Align::Left),
    ];
    let mut parts: BTreeMap<(&str, Option<u64>), Vec<&OperationCalibration>> = BTreeMap::new();
    for operation in profile.operation_profiles.values() {
        let params = &operation.extra_params;
        let dtype = text(params, "dtype").unwrap_or_default();
        let dtype = dtype.strip_prefix("torch.").unwrap_or(dtype);
        let threads = params.get("threads").and_then(Value::as_u64);
        parts.entry((dtype, threads)).or_default().push(operation);
    }
    let mut footnotes = Footnotes::default();
    let mut lines = Vec::new();
    for ((dtype, threads), mut operations) in parts {
        let threads = threads.map(|threads| units::count(threads as usize, "thread"));
        let part: Vec<String> =
            [dtype.to_owned()].into_iter().filter(|it| !it.is_empty()).chain(threads).collect();
        if !part.is_empty() {
            lines.push(Line::Text(Cell::new(format!("  {}", part.join(", ")), Paint::Dim)));
        }
        operations.order_by_key(|it| (it.name().to_owned(), it.input_shape.clone()));
        lines.extend(operations.into_iter().map(|it| line(profile, it, &mut footnotes)));
    }
    fit(&columns, &mut lines, 4, Some(width), &GIVE_WAY);
    let title = format!("Operation Profiles ({} total):", profile.operation_profiles.len());
    heading(&title, colour)
        + &render(&columns, &lines, 4, width, colour)
        + &footnotes.render(width, colour)
}

fn line(profile: &Profile, operation: &OperationCalibration, footnotes: &mut Footnotes) -> Line {
    let params = &operation.extra_params;
    let (share, paint) = efficiency(operation.efficiency);
    let bound = match profile.is_memory_bound(operation) {
        Some(true) => "memory",
        Some(false) => "compute",
        None => ABSENT,
    };
    // A bandwidth is bound by the level of memory that it is of.
    let bound = match params.get("level") {
        Some(level) => level.as_str().unwrap_or("unclear"),
        None => bound,
    };
    Line::Cells(vec![
        operation.name().into(),
        operation.size_name().into(),
        rate(Some(operation.measured_gflops).filter(|rate| *rate > 0.0)).into(),
        rate(Some(operation.achieved_bandwidth_gbps)).into(),
        Cell::new(share, paint),
        bound.into(),
        Cell::new(footnotes.marks(strings(params, "cautions")), Paint::Warn),
    ])
}
