//! Our own document, key by key. `docs/schema/report-v1.schema.json` describes it, and
//! `model::Exported` reads it back: a key more here is a key more there, and in the schema.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Check, Environment, Record, Stat};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::model::{
    Better, Caution, Circumstances, Comparison, CriterionResult, Entry, Exported, Figure, Gain,
    GainSource, InRun, Levels, MEASURES, Missing, NoTime, Report, Run, Span,
};
use crate::write::verdict;

/// The document: its head, and its cases or their number.
#[derive(serde::Serialize)]
pub struct Document<'a, T> {
    #[serde(flatten)]
    pub head: Head<'a>,
    pub cases: T,
}

/// What is said once.
#[derive(serde::Serialize)]
pub struct Head<'a> {
    schema: &'static str,
    version: u32,
    tool: Tool,
    baseline: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    run_names: &'a [String],
    measures: Catalogue,
    circumstances: Vec<Circumstance<'a>>,
    checks: &'a [Check],
    run_warnings: &'a [String],
    runs: &'a [Run],
    missing: &'a [Missing],
    warnings: &'a [String],
    unreadable: &'a [String],
    foreign: &'a [String],
    older: BTreeSet<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cut_off: BTreeMap<&'a str, &'a str>,
    left_out: BTreeSet<&'a str>,
}

#[derive(serde::Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

impl<'a> Head<'a> {
    pub fn of(report: &'a Report, schema: &'static str) -> Self {
        Self {
            schema,
            version: Exported::VERSION,
            tool: Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
            baseline: &report.baseline,
            run_names: &report.run_names,
            measures: Catalogue,
            circumstances: report.circumstances.iter().map(Circumstance::of).collect(),
            checks: &report.checks,
            run_warnings: &report.run_warnings,
            runs: report.runs(),
            missing: &report.missing,
            warnings: &report.warnings,
            unreadable: &report.unreadable,
            foreign: &report.foreign,
            older: report.older.iter().map(String::as_str).collect(),
            cut_off: report.cut_off.iter().map(|(id, run)| (id.as_str(), run.as_str())).collect(),
            left_out: report.left_out.iter().map(String::as_str).collect(),
        }
    }
}

/// The catalogue of measures by slug.
struct Catalogue;

impl Serialize for Catalogue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Entry {
            name: &'static str,
            unit: &'static str,
            better: Option<&'static str>,
        }
        serializer.collect_map(MEASURES.iter().map(|field| {
            let (name, unit) = (field.description, field.unit.symbol);
            (field.name, Entry { name, unit, better: field.better.map(Better::word) })
        }))
    }
}

#[derive(serde::Serialize)]
struct Circumstance<'a> {
    environment: &'a Environment,
    threads: &'a BTreeSet<u32>,
    allocators: &'a BTreeSet<String>,
    cuda_devices: &'a BTreeSet<String>,
    governors: &'a BTreeSet<String>,
    quiet: Option<[f64; 2]>,
    load_1m: Option<[f64; 2]>,
    first: u64,
    last: u64,
    cases: usize,
}

impl<'a> Circumstance<'a> {
    fn of(shared: &'a Circumstances) -> Self {
        let bounds = |span: Option<Span>| span.map(|Span { low, high }| [low, high]);
        Self {
            environment: &shared.environment,
            threads: &shared.threads,
            allocators: &shared.allocators,
            cuda_devices: &shared.cuda_devices,
            governors: &shared.governors,
            quiet: bounds(shared.quiet),
            load_1m: bounds(shared.load),
            first: shared.first,
            last: shared.last,
            cases: shared.rows,
        }
    }
}

/// One case: what was read of it, then what follows.
#[derive(serde::Serialize)]
pub struct Case<'a> {
    full_id: &'a str,
    record: &'a Record,
    criterion: Option<&'a CriterionResult>,
    no_time: Option<NoTime>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    in_runs: Vec<CaseInRun<'a>>,
    shown: bool,
    earlier: bool,
    outdated: Option<&'a str>,
    reason: Option<String>,
    step_percentiles_ns: Option<Percentiles>,
    measures: Measures<'a>,
    comparison: Option<Compared<'a>>,
    quantization: Option<Compared<'a>>,
    compilation: Option<Compared<'a>>,
    cautions: Vec<Caution>,
}

impl<'a> Case<'a> {
    pub fn of(entry: &Entry<'a>, report: &Report) -> Self {
        let row = entry.row;
        Self {
            full_id: row.full_id(),
            record: &row.record,
            criterion: row.criterion.as_ref(),
            no_time: row.time.as_ref().err().copied(),
            in_runs: row.runs.iter().map(CaseInRun::of).collect(),
            shown: !report.left_out.contains(row.full_id()),
            earlier: report.is_earlier(row.full_id()),
            outdated: row.outdated.as_deref(),
            reason: row.reason(),
            step_percentiles_ns: row.criterion.as_ref().map(Percentiles::of),
            measures: Measures(*entry),
            comparison: entry.comparison.map(Compared::of),
            quantization: entry.quantization.map(Compared::of),
            compilation: entry.compilation.map(Compared::of),
            cautions: entry.cautions(),
        }
    }
}

/// A case as one of several runs left it.
#[derive(serde::Serialize)]
struct CaseInRun<'a> {
    run_name: &'a str,
    record: Option<&'a Record>,
    criterion: Option<&'a CriterionResult>,
    no_time: Option<NoTime>,
    missing: Option<&'a str>,
}

impl<'a> CaseInRun<'a> {
    fn of(run: &'a InRun) -> Self {
        let row = run.row.as_ref();
        Self {
            run_name: &run.name,
            record: row.ok().map(|row| &*row.record),
            criterion: row.ok().and_then(|row| row.criterion.as_ref()),
            no_time: row.ok().and_then(|row| row.time.as_ref().err().copied()),
            missing: row.err().map(String::as_str),
        }
    }
}

/// Percentiles of the samples' times of a step.
#[derive(serde::Serialize)]
struct Percentiles {
    p5: f64,
    p25: f64,
    p50: f64,
    p75: f64,
    p95: f64,
}

impl Percentiles {
    fn of(result: &CriterionResult) -> Self {
        let [p5, p25, p50, p75, p95] = result.samples.quantiles_ns([0.05, 0.25, 0.5, 0.75, 0.95]);
        Self { p5, p25, p50, p75, p95 }
    }
}

/// Every measure that the case has, by slug.
struct Measures<'a>(Entry<'a>);

impl Serialize for Measures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Value {
            value: Stat,
            #[serde(skip_serializing_if = "Option::is_none")]
            low: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            high: Option<f64>,
        }
        let mut map = serializer.serialize_map(None)?;
        for field in MEASURES {
            if let Some(Figure { value, interval }) = field.figure(&self.0) {
                let (low, high) = (interval.map(|it| it.low), interval.map(|it| it.high));
                map.serialize_entry(field.name, &Value { value: Stat(value), low, high })?;
            }
        }
        map.end()
    }
}

/// A case against another.
#[derive(serde::Serialize)]
struct Compared<'a> {
    over: Option<&'a str>,
    speedup: Option<Ratio>,
    no_speedup: Option<String>,
    weights_reduction: Option<f64>,
    peak_reduction: Option<f64>,
}

#[derive(serde::Serialize)]
struct Ratio {
    ratio: f64,
    low: f64,
    high: f64,
    confidence_level: f64,
    source: &'static str,
    #[serde(flatten)]
    levels: Levels,
    verdict: &'static str,
}

impl<'a> Compared<'a> {
    fn of(comparison: &'a Comparison) -> Self {
        let ratio = |gain: &Gain| Ratio {
            ratio: gain.ratio,
            low: gain.interval.low,
            high: gain.interval.high,
            confidence_level: gain.confidence_level,
            source: gain.source.word(),
            levels: match gain.source {
                GainSource::Pairs { levels, .. } => levels,
                GainSource::Quotient => Levels::default(),
            },
            verdict: verdict::word(gain.verdict()),
        };
        Self {
            over: comparison.over.as_deref(),
            speedup: comparison.gain.as_ref().ok().map(ratio),
            no_speedup: comparison.gain.as_ref().err().map(ToString::to_string),
            weights_reduction: comparison.weights_reduction,
            peak_reduction: comparison.peak_reduction,
        }
    }
}
