//! The array: upstream's results under its own names, and in each object what they lack.
//!
//! Upstream's file is an array without a head, which its scripts iterate over: so schema and version
//! are in every object.

use std::io::Write;

use anyhow::Result;
use plan::{
    Agreement, Allocator, CacheMode, Compilation, CompileMode, Device, Dtype, Implementation,
    JsonFloat, Operator, Threads,
};

use crate::model::{Caution, Value, column};
use crate::read::{Missing, Report};
use crate::render::json_text::{self, Style};
use crate::render::object::document;
use crate::render::units;
use crate::views::written::Notes;
use crate::views::{EfficiencySource, OperatorResult, Rank, upstreams_estimate};

const SCHEMA: &str = "criterion-torch/operators";
const VERSION: u32 = 1;

/// The cases of a report, those without a record too; `compat` leaves out what upstream's scripts
/// cannot take.
pub fn array(
    report: &Report,
    results: &[OperatorResult<'_>],
    compat: bool,
    out: &mut dyn Write,
) -> Result<Notes> {
    let streams =
        |result: &&OperatorResult<'_>| result.key.work.implementation == Implementation::Stream;
    let taken =
        |result: &&OperatorResult<'_>| !compat || !streams(result) && result.entry.row.time.is_ok();
    let mut items: Vec<Item<'_>> =
        results.iter().filter(taken).map(|it| Item::of(it, compat)).collect();
    let mut notes = Vec::new();
    if compat {
        let streams = results.iter().filter(streams).count();
        let without = results.len() - items.len() - streams + report.missing.len();
        notes.extend((streams > 0).then(|| {
            format!("{} of `stream` skipped: it computes nothing", units::count(streams, "case"))
        }));
        notes.extend(
            (without > 0)
                .then(|| format!("{} without a time skipped", units::count(without, "case"))),
        );
    } else {
        items.extend(report.missing.iter().map(Item::missing));
    }
    json_text::write(&items, Style::Pretty, out)?;
    out.write_all(b"\n")?;
    Ok(notes)
}

// The names are part of the command's contract; upstream's come first, in its order. With `compat` upstream's formula is
// the `gpu_efficiency`.
document! {
    /// An implementation of an operator at one size.
    #[derive(Default)]
    pub struct Item<'a> = of(result: &'a OperatorResult<'a>, compat: bool) [
        entry = Some(result.entry);
        row = result.entry.row;
        record = &row.record;
        work = result.key.work;
        place = &result.key.place;
        utilization = record.measures.utilization.as_ref();
        accuracy = record.accuracy.as_ref();
        gate = row.worst_gate();
        efficiency = result.efficiency.as_ref().ok();
        time = row.time.as_ref().ok().filter(|_| compat);
        estimate = time.map(|time| upstreams_estimate(time.median_ns / 1e6));
        of_limit = efficiency.map(|efficiency| efficiency.share * 100.0);
        own = efficiency.filter(|_| estimate.is_none());
        share = own.and_then(|efficiency| efficiency.interval);
        source = own.map(|efficiency| &efficiency.source);
        ceiling = efficiency.and_then(|efficiency| efficiency.source.ceiling());
        eager = result.entry.compilation;
    ] {
        operation: Option<&'static str> = Some(work.operator.upstream()),
        implementation: Option<String> = Some(implementation(work.implementation, work.compile)),
        batch_size: Option<u64> = Some(work.size.batch_size),
        sequence_length: Option<u64> = Some(work.size.sequence_length),
        tensor_dimension: Option<u64> = Some(work.size.tensor_dimension),
        time_ms: Option<Value<'a>> = column!(entry, "latency" / 1e6),
        memory_mb: Option<Value<'a>> = column!(entry, "peak-memory" / 1_048_576.0),
        inference_speed: Option<Value<'a>> = column!(entry, "throughput"),
        gpu_efficiency: Option<f64> = estimate.or(of_limit),
        throughput_gbps: Option<Value<'a>> = column!(entry, "bandwidth"),
        schema: &'static str = SCHEMA,
        version: u32 = VERSION,
        full_id: &'a str = row.full_id(),
        config: Option<Value<'a>> = column!(entry, "config"),
        operator: Option<Operator> = Some(work.operator),
        variant: Option<Implementation> = Some(work.implementation),
        compile: Option<CompileMode> = work.compile,
        size: Option<String> = Some(work.size.to_string()),
        dtype: Option<Dtype> = Some(result.key.dtype),
        device: Option<Device> = Some(place.device),
        processor: Option<&'a str> = place.processor.as_deref(),
        threads: Option<Threads> = Some(place.threads),
        allocator: Option<Allocator> = Some(place.allocator),
        cache: Option<CacheMode> = Some(place.cache),
        threads_in_force: Option<Value<'a>> = column!(entry, "threads"),
        hostname: Option<Value<'a>> = column!(entry, "hostname"),
        libtorch: Option<Value<'a>> = column!(entry, "libtorch"),
        git_revision: Option<Value<'a>> = column!(entry, "git-revision"),
        outcome: &'static str = record.outcome.status(),
        reason: Option<String> = row.reason(),
        run_id: Option<Value<'a>> = column!(entry, "run-id"),
        timestamp: Option<u64> = Some(record.timestamp),
        time_low_ms: Option<Value<'a>> = column!(entry, "latency", Low / 1e6),
        time_high_ms: Option<Value<'a>> = column!(entry, "latency", High / 1e6),
        time_confidence_level: Option<Value<'a>> = column!(entry, "confidence-level"),
        mean_time_ms: Option<Value<'a>> = column!(entry, "call-mean" / 1e6),
        mean_calls: Option<Value<'a>> = column!(entry, "latency-calls"),
        samples: Option<Value<'a>> = column!(entry, "samples"),
        quick: Option<Value<'a>> = column!(entry, "quick"),
        calls_per_s: Option<Value<'a>> = column!(entry, "throughput"),
        elements_per_s: Option<f64> = elements_per_s(result),
        gb_per_s: Option<Value<'a>> = column!(entry, "bandwidth"),
        gflop_per_s: Option<Value<'a>> = column!(entry, "gflops"),
        bytes: Option<u64> = plan::cost::moved_bytes(&record.case),
        flops: Option<Value<'a>> = column!(entry, "flops"),
        standing: Option<&'static str> = result.standing.map(Rank::word),
        gpu_efficiency_low: Option<f64> = share.map(|interval| interval.low * 100.0),
        gpu_efficiency_high: Option<f64> = share.map(|interval| interval.high * 100.0),
        share_of_limit: Option<f64> = of_limit,
        efficiency_source: Option<&'static str> = estimate.map(|_| "upstream").or(source.map(EfficiencySource::word)),
        efficiency_method: Option<&'static str> = estimate.map(|_| "formula").or(source.and_then(EfficiencySource::method)),
        limit_gb_per_s: Option<f64> = ceiling.map(|ceiling| ceiling.gb_per_s),
        limit_level: Option<&'a str> = ceiling.map(|ceiling| &*ceiling.level),
        limit_operation: Option<&'a str> = ceiling.map(|ceiling| &*ceiling.operation),
        no_efficiency_reason: Option<String> = result.efficiency.as_ref().err().map(ToString::to_string),
        // In percent, as `gpu_efficiency` is.
        sm_utilization: Option<f64> = utilization.map(|it| it.sm.median * 100.0),
        memory_utilization: Option<f64> = utilization.map(|it| it.memory.median * 100.0),
        utilization_samples: Option<Value<'a>> = column!(entry, "utilization-samples"),
        no_utilization_reason: Option<&'a str> = record.measures.absent.get("utilization").map(|why| &**why),
        speedup: Option<Value<'a>> = column!(entry, "speedup"),
        speedup_low: Option<Value<'a>> = column!(entry, "speedup", Low),
        speedup_high: Option<Value<'a>> = column!(entry, "speedup", High),
        speedup_confidence_level: Option<f64> = result.entry.speedup().map(|it| it.confidence_level),
        blocks: Option<Value<'a>> = column!(entry, "pair-blocks"),
        pair_builds: Option<Value<'a>> = column!(entry, "pair-builds"),
        pair_within: Option<Value<'a>> = column!(entry, "pair-within"),
        pair_between: Option<Value<'a>> = column!(entry, "pair-between"),
        verdict: Option<Value<'a>> = column!(entry, "verdict"),
        no_speedup_reason: Option<String> = match result.entry.comparison {
            None => Some("the others are compared with it".to_owned()),
            Some(compared) => compared.speedup.as_ref().err().map(ToString::to_string),
        },
        speedup_over_eager: Option<Value<'a>> = column!(entry, "speedup-over-eager"),
        speedup_over_eager_low: Option<Value<'a>> = column!(entry, "speedup-over-eager", Low),
        speedup_over_eager_high: Option<Value<'a>> = column!(entry, "speedup-over-eager", High),
        speedup_over_eager_source: Option<Value<'a>> = column!(entry, "speedup-over-eager-source"),
        no_speedup_over_eager_reason: Option<String> = eager.and_then(|it| Some(it.gain.as_ref().err()?.to_string())),
        compilation: Option<&'a Compilation> = record.compilation.as_ref(),
        eager_agreement: Option<Agreement> = accuracy.and_then(|accuracy| accuracy.eager),
        peak_bytes: Option<Value<'a>> = column!(entry, "peak-memory"),
        step_peak_bytes: Option<Value<'a>> = column!(entry, "step-memory"),
        step_total_bytes: Option<Value<'a>> = column!(entry, "step-total-bytes"),
        step_allocations: Option<Value<'a>> = column!(entry, "step-allocations"),
        peak_reduction: Option<Value<'a>> = column!(entry, "peak-reduction"),
        sqnr_db: Option<Value<'a>> = column!(entry, "sqnr"),
        max_abs_error: Option<Value<'a>> = column!(entry, "max-abs-error"),
        gates: Option<usize> = accuracy.map(|accuracy| accuracy.gates.len()),
        worst_gate: Option<JsonFloat> = gate.map(|gate| gate.worst),
        worst_gate_inputs: Option<&'a str> = gate.map(|gate| &*gate.inputs),
        worst_gate_size: Option<&'a [u64]> = gate.map(|gate| &*gate.size),
        kernels: &'a [String] = &record.kernels,
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        cautions: &'a [Caution] = &result.cautions,
    }
}

impl<'a> Item<'a> {
    /// A case without a record has nothing but its id.
    fn missing(missing: &'a Missing) -> Self {
        let (full_id, reason) = (&missing.full_id, Some(missing.reason.clone()));
        Self {
            schema: SCHEMA,
            version: VERSION,
            full_id,
            outcome: "missing",
            reason,
            ..Self::default()
        }
    }
}

/// Elements of x per second at the median time.
fn elements_per_s(result: &OperatorResult<'_>) -> Option<f64> {
    let elements = result.key.work.size.elements() as f64;
    result.entry.row.steps_per_s().map(|steps| steps * elements)
}

/// Upstream's name, or one like it: `PyTorch`, `PyTorch (composed, compile)`.
fn implementation(implementation: Implementation, compile: Option<CompileMode>) -> String {
    let name = implementation.upstream();
    match (compile.map(CompileMode::suffix), name.strip_suffix(')')) {
        (None, _) => name.to_owned(),
        (Some(mode), None) => format!("{name} ({mode})"),
        (Some(mode), Some(open)) => format!("{open}, {mode})"),
    }
}
