//! Our own document, key by key. `schema/report-v1.schema.json` is made of these types, and
//! `model::Exported` reads it back.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Check, JsonFloat, Record};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::model::{
    Better, Caution, Circumstances, Comparison, CriterionResult, Entry, Field, Figure, Gain,
    GainSource, InRun, MEASURES, NoTime, VarianceComponents,
};
use crate::read::{Exported, Missing, Report, Run};
use crate::render::object::document;

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

document! {
    /// The part that is written once.
    pub struct Head<'a> = new(report: &'a Report, schema: &'static str) {
        /// `criterion-torch/report`.
        #[cfg_attr(feature = "schema", schemars(extend("const" = Exported::SCHEMA)))]
        schema: &'static str = schema,
        /// Counts incompatible changes.
        #[cfg_attr(feature = "schema", schemars(extend("const" = Exported::VERSION)))]
        version: u32 = Exported::VERSION,
        /// The program that wrote the file.
        tool: Tool = Tool::new(),
        /// Name under which criterion saved the results.
        baseline: &'a str = &report.baseline,
        /// Names of the runs, in their order, if several were saved under the baseline's name with a
        /// number each. `in_runs` of each case holds what they left; its time and its speed-ups are of
        /// all of them.
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        run_names: &'a [String] = &report.run_names,
        /// The measures that each case may have.
        #[cfg_attr(feature = "schema", schemars(schema_with = "by_measure::<CatalogueEntry>"))]
        measures: Catalogue = Catalogue,
        /// Machines, libraries and revisions of the shown cases.
        circumstances: &'a [Circumstances] = &report.circumstances,
        /// The checks of the machine before the runs, each once.
        checks: &'a [Check] = &report.checks,
        /// The runs' warnings about the machine.
        run_warnings: &'a [String] = &report.run_warnings,
        /// The runs that concern the baseline, the oldest first.
        runs: &'a [Run] = report.runs.all(),
        /// Cases that a run selected and that have no record.
        missing: &'a [Missing] = &report.missing,
        /// Skipped input that can be measured again.
        warnings: &'a [String] = &report.warnings,
        /// Files and lines that should be results and could not be used.
        unreadable: &'a [String] = &report.unreadable,
        /// Results in criterion's folder without a record.
        foreign: &'a [String] = &report.foreign,
        /// Cases whose last record is of an older version.
        older: BTreeSet<&'a str> = report.older.iter().map(String::as_str).collect(),
        /// Runs whose record of a case is cut off, by the case's `full_id`; absent where there is none.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        cut_off: BTreeMap<&'a str, &'a str> = report.cut_off.iter().map(|(id, run)| (&**id, &**run)).collect(),
        /// Cases that the filter or `--latest` left out.
        left_out: BTreeSet<&'a str> = report.left_out.iter().map(String::as_str).collect(),
    }

    struct Tool = new() {
        /// Its name.
        name: &'static str = env!("CARGO_PKG_NAME"),
        /// Its version.
        version: &'static str = env!("CARGO_PKG_VERSION"),
    }

    /// A measure of the catalogue.
    struct CatalogueEntry = new(of: &Field) {
        /// One line that says what it is.
        name: &'static str = of.description,
        /// Its unit.
        unit: &'static str = of.unit.symbol,
        /// Which values are better.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["smaller", "bigger"])))]
        better: Option<&'static str> = of.better.map(Better::word),
    }

    /// One case: what was read of it, then what follows.
    #[cfg_attr(feature = "schema", schemars(rename = "ExportedCase"))]
    pub struct Case<'a> = new(entry: &Entry<'a>, report: &Report) [
        row = entry.row;
    ] {
        /// Criterion's id.
        full_id: &'a str = row.full_id(),
        /// The benchmarks' own record, as it was read.
        record: &'a Record = &row.record,
        /// benchmark.json, estimates.json and sample.json of criterion, where they are of the same
        /// measurement.
        criterion: Option<&'a CriterionResult> = row.criterion.as_deref(),
        /// Why there is no time, where there is none.
        no_time: Option<NoTime> = row.time.as_ref().err().copied(),
        /// The results of each run, in their order, if there are several. `record` is then that of
        /// the last that measured it, `criterion` all their samples and the mean of their estimates.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        in_runs: Vec<CaseInRun<'a>> = row.runs.iter().map(CaseInRun::new).collect(),
        /// Whether the filter lets it through; otherwise others are compared with it.
        shown: bool = !report.left_out.contains(row.full_id()),
        /// Whether the latest run of its bench target did not select it.
        earlier: bool = report.runs.is_earlier(row.full_id()),
        /// Set when a later run selected the case and ended before it left a record.
        outdated: Option<&'a str> = row.outdated.as_deref(),
        /// Why there is no number.
        reason: Option<String> = row.reason(),
        /// Percentiles of the samples' times of a step.
        step_percentiles_ns: Option<Percentiles> = row.criterion.as_deref().map(Percentiles::new),
        /// Every measure that the case has, by name.
        #[cfg_attr(feature = "schema", schemars(schema_with = "by_measure::<MeasureValue>"))]
        measures: Measures<'a> = Measures(*entry),
        /// Against the baseline of its group.
        comparison: Option<Compared<'a>> = entry.comparison.map(Compared::new),
        /// Against the unquantized model run the same way.
        quantization: Option<Compared<'a>> = entry.quantization.map(Compared::new),
        /// A compiled case against the same run eagerly.
        compilation: Option<Compared<'a>> = entry.compilation.map(Compared::new),
        /// Cautions on its numbers.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        cautions: Vec<Caution> = entry.cautions(),
    }

    /// A case as one of several runs left it.
    struct CaseInRun<'a> = new(run: &'a InRun) [
        row = run.row.as_ref();
    ] {
        /// One of the document's `run_names`.
        run_name: &'a str = &run.name,
        /// The run's record of the case, if it left one.
        record: Option<&'a Record> = row.ok().map(|row| &*row.record),
        /// Criterion's results of the run, if they are of the same measurement.
        criterion: Option<&'a CriterionResult> = row.ok().and_then(|row| row.criterion.as_deref()),
        /// Why there is no time, where there is a record.
        no_time: Option<NoTime> = row.ok().and_then(|row| row.time.as_ref().err().copied()),
        /// Why there is no record.
        missing: Option<&'a str> = row.err().map(String::as_str),
    }

    /// Percentiles of the samples' times of a step.
    struct Percentiles = new(result: &CriterionResult) [
        [p5, p25, p50, p75, p95] = result.samples.quantiles_ns([0.05, 0.25, 0.5, 0.75, 0.95]);
    ] {
        /// 5th percentile.
        p5: f64 = p5,
        /// 25th percentile.
        p25: f64 = p25,
        /// 50th percentile.
        p50: f64 = p50,
        /// 75th percentile.
        p75: f64 = p75,
        /// 95th percentile.
        p95: f64 = p95,
    }

    /// A measure of a case, with its confidence interval where it has one.
    struct MeasureValue = new(figure: Figure) {
        /// The value, in the unit of the catalogue.
        value: JsonFloat = JsonFloat(figure.value),
        /// Lower bound of its interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        low: Option<f64> = figure.interval.map(|it| it.low),
        /// Upper bound of its interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        high: Option<f64> = figure.interval.map(|it| it.high),
    }

    /// A case against another.
    struct Compared<'a> = new(comparison: &'a Comparison) {
        /// `full_id` of the other case.
        over: Option<&'a str> = comparison.over.as_deref(),
        /// The other's time over this one's.
        speedup: Option<Ratio> = comparison.gain.as_ref().ok().map(Ratio::new),
        /// Why there is none.
        no_speedup: Option<String> = comparison.gain.as_ref().err().map(ToString::to_string),
        /// 1 − its weights / the other's.
        weights_reduction: Option<f64> = comparison.weights_reduction,
        /// 1 − its peak of memory / the other's.
        peak_reduction: Option<f64> = comparison.peak_reduction,
    }

    struct Ratio = new(gain: &Gain) {
        /// The speed-up.
        ratio: f64 = gain.ratio,
        /// Lower bound of its interval.
        low: f64 = gain.interval.low,
        /// Upper bound of its interval.
        high: f64 = gain.interval.high,
        /// Level of the interval.
        confidence_level: f64 = gain.confidence_level,
        /// `pairs` or `quotient`.
        source: &'static str = gain.source.word(),
        #[serde(flatten)]
        levels: VarianceComponents = match gain.source {
            GainSource::Pairs { levels, .. } => levels,
            GainSource::Quotient => VarianceComponents::default(),
        },
        /// The word of the speed-up.
        verdict: &'static str = gain.verdict().word(),
    }
}

/// The catalogue of measures by name: description, unit, and which values are better.
struct Catalogue;

impl Serialize for Catalogue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(MEASURES.iter().map(|it| (it.name, CatalogueEntry::new(it))))
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

struct Measures<'a>(Entry<'a>);

impl Serialize for Measures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in MEASURES {
            if let Some(figure) = field.figure(&self.0) {
                map.serialize_entry(field.name, &MeasureValue::new(figure))?;
            }
        }
        map.end()
    }
}
