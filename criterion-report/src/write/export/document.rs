//! Our own document, key by key. `schema/report-v1.schema.json` is made of these types, and
//! `model::Exported` reads it back.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Check, Record, Stat};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::model::{
    Better, Caution, Circumstances, Comparison, CriterionResult, Entry, Exported, Figure, Gain,
    GainSource, InRun, Levels, MEASURES, Missing, NoTime, Report, Run,
};

/// The document of `criterion-report export json`. `export jsonl` writes the same in lines: the
/// first is this object with `"schema": "criterion-torch/report-lines"` and the number of lines
/// that follow as `cases`; each further line is an `ExportedCase`. Times are in nanoseconds and
/// sizes in bytes unless a key says otherwise. Timestamps are seconds since the Unix epoch.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(bound = ""))]
pub struct Document<'a, T> {
    #[serde(flatten)]
    pub head: Head<'a>,
    /// The shown cases, and those that they are compared with.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Case<'a>>"))]
    pub cases: T,
}

/// The part that is written once.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Head<'a> {
    /// `criterion-torch/report`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = Exported::SCHEMA)))]
    schema: &'static str,
    /// Counts incompatible changes.
    #[cfg_attr(feature = "schema", schemars(extend("const" = Exported::VERSION)))]
    version: u32,
    /// The program that wrote the file.
    tool: Tool,
    /// Name under which criterion saved the results.
    baseline: &'a str,
    /// Where several runs were saved under the baseline's name with a number each: their names, in
    /// their order. `in_runs` of each case holds what they left; its time and its speed-ups are of
    /// all of them.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    run_names: &'a [String],
    /// The measures that each case may have.
    #[cfg_attr(feature = "schema", schemars(schema_with = "by_measure::<CatalogueEntry>"))]
    measures: Catalogue,
    /// Machines, libraries and revisions of the shown cases.
    circumstances: &'a [Circumstances],
    /// The checks of the machine before the runs, each once.
    checks: &'a [Check],
    /// The runs' warnings about the machine.
    run_warnings: &'a [String],
    /// The runs that concern the baseline, the oldest first.
    runs: &'a [Run],
    /// Cases that a run selected and that have no record.
    missing: &'a [Missing],
    /// Skipped input that can be measured again.
    warnings: &'a [String],
    /// Files and lines that should be results and could not be used.
    unreadable: &'a [String],
    /// Results in criterion's folder without a record.
    foreign: &'a [String],
    /// Cases whose last record is of an older version.
    older: BTreeSet<&'a str>,
    /// Runs whose record of a case is cut off, by the case's `full_id`; absent where there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cut_off: BTreeMap<&'a str, &'a str>,
    /// Cases that the filter or `--latest` left out.
    left_out: BTreeSet<&'a str>,
}

#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Tool {
    /// Its name.
    name: &'static str,
    /// Its version.
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
            circumstances: &report.circumstances,
            checks: &report.checks,
            run_warnings: &report.run_warnings,
            runs: report.runs.all(),
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

/// The catalogue of measures by name: description, unit, and which values are better.
struct Catalogue;

/// A measure of the catalogue.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CatalogueEntry {
    /// One line that says what it is.
    name: &'static str,
    /// Its unit.
    unit: &'static str,
    /// Which values are better.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["smaller", "bigger"])))]
    better: Option<&'static str>,
}

impl Serialize for Catalogue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(MEASURES.iter().map(|field| {
            let (name, unit) = (field.description, field.unit.symbol);
            (field.name, CatalogueEntry { name, unit, better: field.better.map(Better::word) })
        }))
    }
}

#[cfg(feature = "schema")]
fn by_measure<T: schemars::JsonSchema>(
    generator: &mut schemars::SchemaGenerator,
) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
            "propertyNames": { "enum": MEASURES.map(|field| field.name).as_slice() },
            "additionalProperties": generator.subschema_for::<T>(),
    })
}

/// One case: what was read of it, then what follows.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ExportedCase"))]
pub struct Case<'a> {
    /// Criterion's id.
    full_id: &'a str,
    /// The benchmarks' own record, as it was read.
    record: &'a Record,
    /// benchmark.json, estimates.json and sample.json of criterion, where they are of the same
    /// measurement.
    criterion: Option<&'a CriterionResult>,
    /// Why there is no time, where there is none.
    no_time: Option<NoTime>,
    /// Where it is of several runs: as each of them left it, in their order. `record` is then that of
    /// the last that measured it, `criterion` all their samples and the mean of their estimates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    in_runs: Vec<CaseInRun<'a>>,
    /// Whether the filter lets it through; otherwise others are compared with it.
    shown: bool,
    /// Whether the latest run of its bench target did not select it.
    earlier: bool,
    /// Set when a later run selected the case and ended before it left a record.
    outdated: Option<&'a str>,
    /// Why there is no number.
    reason: Option<String>,
    /// Percentiles of the samples' times of a step.
    step_percentiles_ns: Option<Percentiles>,
    /// Every measure that the case has, by name.
    #[cfg_attr(feature = "schema", schemars(schema_with = "by_measure::<MeasureValue>"))]
    measures: Measures<'a>,
    /// Against the baseline of its group.
    comparison: Option<Compared<'a>>,
    /// Against the unquantized model run the same way.
    quantization: Option<Compared<'a>>,
    /// A compiled case against the same run eagerly.
    compilation: Option<Compared<'a>>,
    /// Cautions on its numbers.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    cautions: Vec<Caution>,
}

impl<'a> Case<'a> {
    pub fn of(entry: &Entry<'a>, report: &Report) -> Self {
        let row = entry.row;
        Self {
            full_id: row.full_id(),
            record: &row.record,
            criterion: row.criterion.as_deref(),
            no_time: row.time.as_ref().err().copied(),
            in_runs: row.runs.iter().map(CaseInRun::of).collect(),
            shown: !report.left_out.contains(row.full_id()),
            earlier: report.runs.is_earlier(row.full_id()),
            outdated: row.outdated.as_deref(),
            reason: row.reason(),
            step_percentiles_ns: row.criterion.as_deref().map(Percentiles::of),
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CaseInRun<'a> {
    /// One of the document's `run_names`.
    run_name: &'a str,
    /// The run's record of the case, if it left one.
    record: Option<&'a Record>,
    /// Criterion's results of the run, if they are of the same measurement.
    criterion: Option<&'a CriterionResult>,
    /// Why there is no time, where there is a record.
    no_time: Option<NoTime>,
    /// Why there is no record.
    missing: Option<&'a str>,
}

impl<'a> CaseInRun<'a> {
    fn of(run: &'a InRun) -> Self {
        let row = run.row.as_ref();
        Self {
            run_name: &run.name,
            record: row.ok().map(|row| &*row.record),
            criterion: row.ok().and_then(|row| row.criterion.as_deref()),
            no_time: row.ok().and_then(|row| row.time.as_ref().err().copied()),
            missing: row.err().map(String::as_str),
        }
    }
}

/// Percentiles of the samples' times of a step.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Percentiles {
    /// 5th percentile.
    p5: f64,
    /// 25th percentile.
    p25: f64,
    /// 50th percentile.
    p50: f64,
    /// 75th percentile.
    p75: f64,
    /// 95th percentile.
    p95: f64,
}

impl Percentiles {
    fn of(result: &CriterionResult) -> Self {
        let [p5, p25, p50, p75, p95] = result.samples.quantiles_ns([0.05, 0.25, 0.5, 0.75, 0.95]);
        Self { p5, p25, p50, p75, p95 }
    }
}

struct Measures<'a>(Entry<'a>);

/// A measure of a case, with its confidence interval where it has one.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MeasureValue {
    /// The value, in the unit of the catalogue.
    value: Stat,
    /// Lower bound of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    /// Upper bound of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
}

impl Serialize for Measures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in MEASURES {
            if let Some(Figure { value, interval }) = field.figure(&self.0) {
                let (low, high) = (interval.map(|it| it.low), interval.map(|it| it.high));
                map.serialize_entry(field.name, &MeasureValue { value: Stat(value), low, high })?;
            }
        }
        map.end()
    }
}

/// A case against another.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Compared<'a> {
    /// `full_id` of the other case.
    over: Option<&'a str>,
    /// The other's time over this one's.
    speedup: Option<Ratio>,
    /// Why there is none.
    no_speedup: Option<String>,
    /// 1 − its weights / the other's.
    weights_reduction: Option<f64>,
    /// 1 − its peak of memory / the other's.
    peak_reduction: Option<f64>,
}

#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Ratio {
    /// The speed-up.
    ratio: f64,
    /// Lower bound of its interval.
    low: f64,
    /// Upper bound of its interval.
    high: f64,
    /// Level of the interval.
    confidence_level: f64,
    /// `pairs` or `quotient`.
    source: &'static str,
    #[serde(flatten)]
    levels: Levels,
    /// The word of the speed-up.
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
            verdict: gain.verdict().word(),
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
