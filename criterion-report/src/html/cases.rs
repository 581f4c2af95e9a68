//! The cases as columns.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Value, json};

use super::explanations::Panel as Why;
use super::figures::{Figure, Spread, Strings};
use super::profiles::{Links, Panel};
use super::roofs::Chart;
use crate::model::{Column, Distribution, Entry, Field, Row, Value as Figures, ValuePart};
use crate::read::{Missing, Report};
use crate::render::units;
use crate::views::calibration::{Placement, RooflineSet};
use crate::views::explain::Explainer;
use crate::views::fronts;

const NUMBERS: &[Column] = &[
    Column::new("time", "latency"),
    Column::new("speedup", "speedup"),
    Column::new("speedup_low", "speedup").part(ValuePart::Low),
    Column::new("speedup_high", "speedup").part(ValuePart::High),
    Column::new("weights", "weights-memory"),
    Column::new("inputs", "inputs-bytes"),
    Column::new("outputs", "outputs-bytes"),
    Column::new("step", "step-memory"),
    Column::new("peak", "peak-memory"),
    Column::new("sqnr", "sqnr"),
    Column::new("energy", "energy"),
    Column::new("sm", "sm-utilization"),
    Column::new("sm_low", "sm-utilization").part(ValuePart::Low),
    Column::new("sm_high", "sm-utilization").part(ValuePart::High),
    Column::new("busy", "memory-utilization"),
    Column::new("busy_low", "memory-utilization").part(ValuePart::Low),
    Column::new("busy_high", "memory-utilization").part(ValuePart::High),
];

/// Values to be read, each another one in nearly every case.
const TEXTS: &[Column] =
    &[Column::new("time_text", "latency"), Column::new("speedup_text", "speedup")];

/// Texts that cases share.
const SHARED: &[Column] = &[
    Column::new("sqnr_text", "sqnr"),
    Column::new("energy_text", "energy"),
    Column::new("watts_text", "energy-watts"),
];

type Cell = (&'static str, Value);

/// Name of a column to its values, one per case; null where a case has none. A column in which no
/// case has a value is not there.
#[derive(Debug, Default, Serialize)]
pub struct Cases {
    count: usize,
    columns: BTreeMap<&'static str, Vec<Value>>,
}

/// Data common to all cases of the page.
pub struct Context<'a> {
    report: &'a Report,
    /// Whether a case is on the front of its siblings.
    fronts: HashMap<&'a str, bool>,
    roofline_sets: &'a [RooflineSet],
    links: &'a Links,
    explainer: Explainer<'a>,
}

impl Cases {
    /// The report's entries, in their order, and the cases that no run reached behind them.
    pub fn new<'a>(
        context: &Context<'a>,
        entries: &[Entry<'a>],
        places: &mut Vec<Chart>,
        strings: &mut Strings,
    ) -> Self {
        let mut cases = Self::default();
        for entry in entries {
            let mut cells = identity(entry.row, strings);
            cells.extend(context.qualification(entry, strings));
            cells.extend(values(entry));
            let stale = entry.row.time.as_ref().err().is_some_and(|no_time| no_time.is_stale());
            cells.push(("stale", json!(stale.then_some(1))));
            cells.extend(speedup(entry, strings));
            cells.extend(memory(entry, strings));
            cells.extend(use_of_gpu(entry, strings));
            cells.extend(SHARED.iter().map(|it| (it.name, shared(it.field, entry, strings))));
            cells.extend(context.front(entry.row));
            cells.extend(context.roofline(entry.row, places, strings));
            cells.extend(latency(entry.row));
            let explanation = context.explainer.explain(entry);
            cells
                .push(("explanation", json!(explanation.as_ref().and_then(Why::from_explanation))));
            cells.push(("profile", json!(Panel::from_entry(entry, context.links))));
            cases.push(cells);
        }
        for case in &context.report.missing {
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
    // `<mode>/<config>/<workload>/<device>/<variant>/<parameter>`
    let mut parts = case.full_id.rsplitn(3, '/');
    let (parameter, variant) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let group = parts.next().unwrap_or("");
    let device = group.rsplit('/').next().unwrap_or("");
    let mut text = |text: &str| json!(strings.text(text));
    vec![
        ("group", text(group)),
        ("variant", text(variant)),
        ("parameter", text(parameter)),
        ("target", text(plan::mode_of(&case.full_id))),
        ("device", text(device)),
        ("status", text("not reached")),
        ("reason", text(&case.reason)),
    ]
}

/// The cells that come from the catalogue.
fn values(entry: &Entry<'_>) -> Vec<Cell> {
    let number = |column: &Column| match column.value(entry)? {
        Figures::Count(count) => Some((column.name, json!(count))),
        value => Some((column.name, json!(Figure(value.figure()?.value)))),
    };
    let text = |column: &Column| Some((column.name, json!(text(column.field, entry)?)));
    NUMBERS.iter().filter_map(number).chain(TEXTS.iter().filter_map(text)).collect()
}

fn text(field: &Field, entry: &Entry<'_>) -> Option<String> {
    Some(field.text(field.value(entry)?, true))
}

/// A value to be read that cases share.
fn shared(field: &Field, entry: &Entry<'_>, strings: &mut Strings) -> Value {
    json!(text(field, entry).map(|text| strings.text(&text)))
}

fn speedup(entry: &Entry<'_>, strings: &mut Strings) -> Vec<Cell> {
    let Some(comparison) = entry.comparison else { return Vec::new() };
    let speedup = match &comparison.speedup {
        Ok(speedup) => speedup,
        Err(why) => return vec![("no_speedup", json!(strings.text(&why.to_string())))],
    };
    let against = entry.baseline.map(|row| json!(strings.text(&row.record.case.id.variant)));
    let called = speedup.differs_as_called();
    let called = called.map(|it| units::ratio(it.ratio, Some(it.interval)));
    vec![
        ("verdict", json!(strings.text(speedup.verdict().word()))),
        ("against", json!(against)),
        ("called_text", json!(called)),
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
    vec![
        ("peak_change", json!(change)),
        ("peak_text", shared(Field::known("peak-memory"), entry, strings)),
        ("memory_text", json!(strings.text(&texts.join(", ")))),
    ]
}

/// `kernels 98.0 % [97.0 %, 99.0 %], memory …`: shares of the time, in 12 samples.
fn use_of_gpu(entry: &Entry<'_>, strings: &mut Strings) -> Option<Cell> {
    let samples = entry.row.record.measures.utilization.as_ref()?.samples;
    let of = |name| text(Field::known(name), entry).unwrap_or_default();
    let text = format!(
        "kernels {}, memory {} of the time, in {}",
        of("sm-utilization"),
        of("memory-utilization"),
        units::count(samples as usize, "sample")
    );
    Some(("use_text", json!(strings.text(&text))))
}

/// The spread of calls each timed by itself, and of criterion's samples, in each of which many steps
/// share.
fn latency(row: &Row) -> Vec<Cell> {
    let samples = row.criterion.as_ref().map(|it| it.samples.steps_ns().collect());
    vec![
        ("calls", json!(Spread::new(Distribution::of_calls(&row.record.measures)))),
        ("samples", json!(Spread::new(samples.and_then(Distribution::new)))),
    ]
}

impl<'a> Context<'a> {
    pub fn new(report: &'a Report, roofline_sets: &'a [RooflineSet], links: &'a Links) -> Self {
        let explainer = Explainer::new(report);
        Self { report, fronts: fronts(report), roofline_sets, links, explainer }
    }

    fn qualification(&self, entry: &Entry<'_>, strings: &mut Strings) -> Vec<Cell> {
        let cautions: Vec<u32> =
            entry.cautions().iter().map(|caution| strings.text(&caution.to_string())).collect();
        let earlier = self.report.runs.is_earlier(entry.row.full_id());
        let circumstances =
            self.report.circumstances.iter().position(|it| it.hold_of(&entry.row.record));
        let machine = entry.row.machine.and_then(|number| self.report.machines.get(number));
        let machine = machine.map(|machine| strings.text(&machine.name));
        vec![
            ("cautions", json!((!cautions.is_empty()).then_some(cautions))),
            ("earlier", json!(earlier.then_some(1))),
            ("circumstances", json!(circumstances)),
            ("machine", json!(machine)),
        ]
    }

    fn front(&self, row: &Row) -> Option<Cell> {
        let front = self.fronts.get(row.full_id()).filter(|_| row.accuracy().is_some());
        front.map(|is_on| ("front", json!(u8::from(*is_on))))
    }

    fn roofline(&self, row: &Row, places: &mut Vec<Chart>, strings: &mut Strings) -> Vec<Cell> {
        let placement = match Placement::from_row(row) {
            Ok(placement) => placement,
            Err(why) => return vec![("no_placement", json!(strings.text(&why.to_string())))],
        };
        let own = self.roofline_sets.iter().find_map(|roofline_set| roofline_set.over(row));
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
            ("place", json!(Chart::find_or_add(row, self.roofline_sets, places))),
            ("flop_per_byte", json!(Figure(placement.flop_per_byte))),
            ("gflop_per_s", json!(Figure(placement.gflop_per_s))),
            ("under_roof", json!(u8::from(headroom.is_some()))),
            ("roofline_text", json!(text)),
            ("under_text", json!(strings.text(&under))),
        ]
    }
}
