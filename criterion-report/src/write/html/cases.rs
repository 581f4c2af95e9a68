//! The cases as columns.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::roofs::Place;
use super::spread::Spread;
use super::strings::{Figure, Strings};
use crate::model::calibration::{Placement, Skyline};
use crate::model::{Distribution, Entry, Missing, Report, Row, TradeOff};
use crate::units;
use crate::write::verdict;

/// A column's name and its value for one case.
type Cell = (&'static str, Value);

/// Name of a column to its values, one per case; null where a case has none. A column in which no
/// case has a value is not there.
#[derive(Debug, Default, Serialize)]
pub struct Cases {
    count: usize,
    columns: BTreeMap<&'static str, Vec<Value>>,
}

/// What is the same for all cases while their columns are filled.
struct Context<'a> {
    report: &'a Report,
    /// Ids that the latest runs of their bench targets selected, and these targets.
    latest: (HashSet<&'a str>, HashSet<&'a str>),
    trade_offs: HashMap<&'a str, TradeOff>,
    skylines: &'a [Skyline],
}

impl Cases {
    /// The report's entries, in their order, and the cases that no run reached behind them.
    pub fn of(
        report: &Report,
        entries: &[Entry<'_>],
        skylines: &[Skyline],
        places: &mut Vec<Place>,
        strings: &mut Strings,
    ) -> Self {
        let latest = latest(report, entries);
        let context = Context { report, latest, trade_offs: TradeOff::all(report), skylines };
        let mut cases = Self::default();
        for entry in entries {
            let mut cells = identity(entry.row, strings);
            cells.extend(context.qualification(entry, strings));
            cells.extend(time(entry.row));
            cells.extend(speedup(entry, strings));
            cells.extend(memory(entry, strings));
            cells.extend(context.accuracy(entry.row, strings));
            cells.extend(context.roofline(entry.row, places, strings));
            cells.extend(latency(entry.row));
            cases.push(cells);
        }
        for case in &report.missing {
            cases.push(missing(case, strings));
        }
        let count = cases.count;
        cases.columns.values_mut().for_each(|column| column.resize(count, Value::Null));
        cases
    }

    fn push(&mut self, cells: Vec<Cell>) {
        for (name, value) in cells.into_iter().filter(|(_, value)| !value.is_null()) {
            let column = self.columns.entry(name).or_default();
            column.resize(self.count, Value::Null);
            column.push(value);
        }
        self.count += 1;
    }
}

/// What the latest runs of the entries' bench targets selected.
fn latest<'a>(report: &'a Report, entries: &[Entry<'a>]) -> (HashSet<&'a str>, HashSet<&'a str>) {
    let all: HashSet<&str> =
        entries.iter().map(|entry| plan::target_of(entry.row.full_id())).collect();
    let runs = all.iter().filter_map(|&target| Some((target, report.latest_run(target)?)));
    let (targets, runs): (HashSet<&str>, Vec<_>) = runs.unzip();
    let selected = runs.iter().flat_map(|run| &run.selected).map(String::as_str).collect();
    (selected, targets)
}

fn identity(row: &Row, strings: &mut Strings) -> Vec<Cell> {
    let record = &row.record;
    let case = &record.case;
    let mut text = |text: &str| json!(strings.text(text));
    let reason = row.reason().map(|reason| text(&reason));
    let kernels = (!record.kernels.is_empty()).then(|| text(&record.kernels.join(", ")));
    vec![
        ("group", text(&case.id.group)),
        ("variant", text(&case.id.variant)),
        ("parameter", text(&case.id.parameter)),
        ("target", text(case.mode.as_str())),
        ("device", text(case.device.as_str())),
        ("dtype", text(case.dtype.short())),
        ("baseline", json!(row.is_baseline().then_some(1))),
        ("status", text(record.outcome.status())),
        ("reason", json!(reason)),
        ("run", text(&record.run_id)),
        ("ended", text(&format!("{} UTC", units::minute(record.timestamp)))),
        ("kernels", json!(kernels)),
    ]
}

/// A case that has nothing but an id and a reason.
fn missing(case: &Missing, strings: &mut Strings) -> Vec<Cell> {
    // `<target>/<config>/<workload>/<device>/<variant>/<parameter>`
    let mut parts = case.full_id.rsplitn(3, '/');
    let (parameter, variant) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let group = parts.next().unwrap_or("");
    let device = group.rsplit('/').next().unwrap_or("");
    let mut text = |text: &str| json!(strings.text(text));
    vec![
        ("group", text(group)),
        ("variant", text(variant)),
        ("parameter", text(parameter)),
        ("target", text(plan::target_of(&case.full_id))),
        ("device", text(device)),
        ("status", text("not reached")),
        ("reason", text(&case.reason)),
    ]
}

fn time(row: &Row) -> Vec<Cell> {
    let Ok(time) = &row.time else {
        let stale = row.time.as_ref().err().is_some_and(|no_time| no_time.is_stale());
        return vec![("stale", json!(stale.then_some(1)))];
    };
    vec![
        ("time", json!(Figure(time.median_ns))),
        ("time_text", json!(units::time_with_interval(time.median_ns, time.interval))),
    ]
}

fn speedup(entry: &Entry<'_>, strings: &mut Strings) -> Vec<Cell> {
    let Some(comparison) = entry.comparison else { return Vec::new() };
    let speedup = match &comparison.speedup {
        Ok(speedup) => speedup,
        Err(why) => return vec![("no_speedup", json!(strings.text(&why.to_string())))],
    };
    let interval = speedup.interval;
    let against = entry.baseline.map(|row| json!(strings.text(&row.record.case.id.variant)));
    vec![
        ("speedup", json!(Figure(speedup.ratio))),
        ("speedup_low", json!(Figure(interval.low))),
        ("speedup_high", json!(Figure(interval.high))),
        ("speedup_text", json!(units::ratio(speedup.ratio, Some(interval)))),
        ("verdict", json!(strings.text(verdict::word(speedup.verdict())))),
        ("against", json!(against)),
    ]
}

fn memory(entry: &Entry<'_>, strings: &mut Strings) -> Vec<Cell> {
    let Some(memory) = entry.row.record.measures.memory else { return Vec::new() };
    let parts = [
        ("weights", memory.weights_bytes),
        ("inputs", memory.inputs_bytes),
        ("outputs", memory.outputs_bytes),
        ("step", memory.step.peak_bytes),
    ];
    let texts = parts.iter().filter(|(_, bytes)| *bytes > 0);
    let texts: Vec<String> =
        texts.map(|(name, bytes)| format!("{name} {}", units::bytes(*bytes))).collect();
    let change = entry.comparison.and_then(|comparison| comparison.peak_reduction);
    let change = change.map(|fraction| json!(strings.text(&units::reduction(fraction))));
    let mut cells: Vec<Cell> = parts.map(|(name, bytes)| (name, json!(bytes))).to_vec();
    cells.extend([
        ("peak", json!(memory.peak_bytes())),
        ("peak_text", json!(strings.text(&units::bytes(memory.peak_bytes())))),
        ("peak_change", json!(change)),
        ("memory_text", json!(strings.text(&texts.join(", ")))),
    ]);
    cells
}

/// The spread of calls each timed by itself, and of criterion's samples, in each of which many steps
/// share.
fn latency(row: &Row) -> Vec<Cell> {
    let samples = row.criterion.as_ref().map(|it| it.samples.steps_ns().collect());
    vec![
        ("calls", json!(Spread::of(Distribution::of_calls(&row.record.measures)))),
        ("samples", json!(Spread::of(samples.and_then(Distribution::of)))),
    ]
}

impl Context<'_> {
    /// What a reader of the numbers must know.
    fn qualification(&self, entry: &Entry<'_>, strings: &mut Strings) -> Vec<Cell> {
        let cautions: Vec<u32> =
            entry.cautions().iter().map(|caution| strings.text(&caution.to_string())).collect();
        let (selected, targets) = &self.latest;
        let id = entry.row.full_id();
        let earlier = targets.contains(plan::target_of(id)) && !selected.contains(id);
        let circumstances =
            self.report.circumstances.iter().position(|it| it.hold_of(&entry.row.record));
        vec![
            ("cautions", json!((!cautions.is_empty()).then_some(cautions))),
            ("earlier", json!(earlier.then_some(1))),
            ("circumstances", json!(circumstances)),
        ]
    }

    fn accuracy(&self, row: &Row, strings: &mut Strings) -> Vec<Cell> {
        let Some(accuracy) = row.accuracy() else { return Vec::new() };
        let sqnr = accuracy.sqnr_db.0;
        let trade_off = self.trade_offs.get(row.full_id());
        vec![
            ("sqnr", json!(Figure(sqnr))),
            ("sqnr_text", json!(strings.text(&units::decibels(sqnr)))),
            ("front", json!(trade_off.map(|it| u8::from(it.on_front)))),
        ]
    }

    fn roofline(&self, row: &Row, places: &mut Vec<Place>, strings: &mut Strings) -> Vec<Cell> {
        let placement = match Placement::of(row) {
            Ok(placement) => placement,
            Err(why) => return vec![("no_placement", json!(strings.text(&why.to_string())))],
        };
        let own = self.skylines.iter().find_map(|skyline| skyline.over(row));
        let headroom = own.and_then(|roof| placement.under(roof));
        let rate = |gflops: f64| units::grouped(&units::significant(gflops, 4));
        let text = format!(
            "{} GFLOP/s at {} FLOP/B",
            rate(placement.gflop_per_s),
            units::grouped(&units::significant(placement.flop_per_byte, 3)),
        );
        let under = match headroom {
            Some(headroom) => format!(
                "{} of the {} that can be reached: {} is the limit",
                units::percent(headroom.share),
                rate(headroom.attainable_gflops),
                if headroom.is_memory_bound { "memory" } else { "arithmetic" },
            ),
            None => "no roof was measured for its dtype on as many threads".to_owned(),
        };
        vec![
            ("place", json!(Place::of(row, self.skylines, places))),
            ("flop_per_byte", json!(Figure(placement.flop_per_byte))),
            ("gflop_per_s", json!(Figure(placement.gflop_per_s))),
            ("under_roof", json!(u8::from(headroom.is_some()))),
            ("roofline_text", json!(text)),
            ("under_text", json!(strings.text(&under))),
        ]
    }
}
