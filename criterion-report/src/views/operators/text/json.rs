//! The array: upstream's results under its own names, and in each object what they lack.
//!
//! Upstream's file is an array without a head, which its scripts iterate over: so schema and version
//! are in every object.

use std::io::Write;

use anyhow::Result;
use plan::{CompileMode, Implementation};

use crate::model::column;
use crate::read::{Missing, Report};
use crate::render::json_text::{self, Style};
use crate::render::object::object;
use crate::render::units;
use crate::views::written::Notes;
use crate::views::{EfficiencySource, OperatorResult, Standing, upstreams_estimate};

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
        results.iter().filter(taken).map(|it| Item::Recorded(it, compat)).collect();
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
        items.extend(report.missing.iter().map(Item::Missing));
    }
    json_text::write(&items, Style::Pretty, out)?;
    out.write_all(b"\n")?;
    Ok(notes)
}

/// One implementation at one size; of a case without a record nothing is known but its id.
enum Item<'a> {
    /// A result, and whether its `gpu_efficiency` uses upstream's formula.
    Recorded(&'a OperatorResult<'a>, bool),
    Missing(&'a Missing),
}

impl<'a> Item<'a> {
    fn result(&self) -> Option<&'a OperatorResult<'a>> {
        match self {
            Self::Recorded(result, _) => Some(result),
            Self::Missing(_) => None,
        }
    }

    /// Upstream's `gpu_efficiency`, if it was asked for.
    fn estimate(&self) -> Option<f64> {
        let Self::Recorded(result, true) = self else { return None };
        let time = result.entry.row.time.as_ref().ok()?;
        Some(upstreams_estimate(time.median_ns / 1e6))
    }
}

// The names are part of the command's contract; upstream's come first, in its order.
object! {
    Item<'_> => |it| [
        result = it.result();
        entry = result.map(|it| it.entry);
        row = entry.map(|it| it.row);
        record = row.map(|row| &row.record);
        work = result.map(|it| it.key.work);
        place = result.map(|it| &it.key.place);
        utilization = record.and_then(|record| record.measures.utilization.as_ref());
        accuracy = record.and_then(|record| record.accuracy.as_ref());
        gate = row.and_then(|row| row.worst_gate());
        efficiency = result.and_then(|it| it.efficiency.as_ref().ok());
        estimate = it.estimate();
        of_limit = efficiency.map(|efficiency| efficiency.share * 100.0);
        own = efficiency.filter(|_| estimate.is_none());
        share = own.and_then(|efficiency| efficiency.interval);
        source = own.map(|efficiency| &efficiency.source);
        ceiling = efficiency.and_then(|efficiency| efficiency.source.ceiling());
        eager = entry.and_then(|entry| entry.compilation);
    ] {
        "operation": work.map(|work| work.operator.upstream()),
        "implementation": work.map(|work| implementation(work.implementation, work.compile)),
        "batch_size": work.map(|work| work.size.batch_size),
        "sequence_length": work.map(|work| work.size.sequence_length),
        "tensor_dimension": work.map(|work| work.size.tensor_dimension),
        "time_ms": column!(entry, "latency" / 1e6),
        "memory_mb": column!(entry, "peak-memory" / 1_048_576.0),
        "inference_speed": column!(entry, "throughput"),
        "gpu_efficiency": estimate.or(of_limit),
        "throughput_gbps": column!(entry, "bandwidth"),
        "schema": "criterion-torch/operators",
        "version": 1,
        "full_id": match it {
            Item::Recorded(result, _) => result.entry.row.full_id(),
            Item::Missing(missing) => &missing.full_id,
        },
        "config": column!(entry, "config"),
        "operator": work.map(|work| work.operator),
        "variant": work.map(|work| work.implementation),
        "compile": work.and_then(|work| work.compile),
        "size": work.map(|work| work.size.to_string()),
        "dtype": result.map(|it| it.key.dtype),
        "device": place.map(|place| place.device),
        "processor": place.and_then(|place| place.processor.as_deref()),
        "threads": place.map(|place| place.threads),
        "allocator": place.map(|place| place.allocator),
        "cache": place.map(|place| place.cache),
        "threads_in_force": column!(entry, "threads"),
        "hostname": column!(entry, "hostname"),
        "libtorch": column!(entry, "libtorch"),
        "git_revision": column!(entry, "git-revision"),
        "outcome": record.map_or("missing", |record| record.outcome.status()),
        "reason": match it {
            Item::Recorded(result, _) => result.entry.row.reason(),
            Item::Missing(missing) => Some(missing.reason.clone()),
        },
        "run_id": column!(entry, "run-id"),
        "timestamp": record.map(|record| record.timestamp),
        "time_low_ms": column!(entry, "latency", Low / 1e6),
        "time_high_ms": column!(entry, "latency", High / 1e6),
        "time_confidence_level": column!(entry, "confidence-level"),
        "mean_time_ms": column!(entry, "call-mean" / 1e6),
        "mean_calls": column!(entry, "latency-calls"),
        "samples": column!(entry, "samples"),
        "quick": column!(entry, "quick"),
        "calls_per_s": column!(entry, "throughput"),
        "elements_per_s": result.and_then(elements_per_s),
        "gb_per_s": column!(entry, "bandwidth"),
        "gflop_per_s": column!(entry, "gflops"),
        "bytes": record.and_then(|record| plan::cost::moved_bytes(&record.case)),
        "flops": column!(entry, "flops"),
        "standing": result.and_then(|it| it.standing).map(Standing::word),
        "gpu_efficiency_low": share.map(|interval| interval.low * 100.0),
        "gpu_efficiency_high": share.map(|interval| interval.high * 100.0),
        "share_of_limit": of_limit,
        "efficiency_source": estimate.map(|_| "upstream").or(source.map(EfficiencySource::word)),
        "efficiency_method": estimate.map(|_| "formula").or(source.and_then(EfficiencySource::method)),
        "limit_gb_per_s": ceiling.map(|ceiling| ceiling.gb_per_s),
        "limit_level": ceiling.map(|ceiling| &ceiling.level),
        "limit_operation": ceiling.map(|ceiling| &ceiling.operation),
        "no_efficiency_reason": result.and_then(|it| Some(it.efficiency.as_ref().err()?.to_string())),
        // In percent, as `gpu_efficiency` is.
        "sm_utilization": utilization.map(|it| it.sm.median * 100.0),
        "memory_utilization": utilization.map(|it| it.memory.median * 100.0),
        "utilization_samples": column!(entry, "utilization-samples"),
        "no_utilization_reason": record.and_then(|it| it.measures.absent.get("utilization")),
        "speedup": column!(entry, "speedup"),
        "speedup_low": column!(entry, "speedup", Low),
        "speedup_high": column!(entry, "speedup", High),
        "speedup_confidence_level": entry.and_then(|it| Some(it.speedup()?.confidence_level)),
        "blocks": column!(entry, "pair-blocks"),
        "pair_builds": column!(entry, "pair-builds"),
        "pair_within": column!(entry, "pair-within"),
        "pair_between": column!(entry, "pair-between"),
        "verdict": column!(entry, "verdict"),
        "no_speedup_reason": entry.and_then(|it| match it.comparison {
            None => Some("the others are compared with it".to_owned()),
            Some(compared) => compared.speedup.as_ref().err().map(ToString::to_string),
        }),
        "speedup_over_eager": column!(entry, "speedup-over-eager"),
        "speedup_over_eager_low": column!(entry, "speedup-over-eager", Low),
        "speedup_over_eager_high": column!(entry, "speedup-over-eager", High),
        "speedup_over_eager_source": column!(entry, "speedup-over-eager-source"),
        "no_speedup_over_eager_reason": eager.and_then(|it| Some(it.gain.as_ref().err()?.to_string())),
        "compilation": record.and_then(|record| record.compilation.as_ref()),
        "eager_agreement": accuracy.and_then(|accuracy| accuracy.eager),
        "peak_bytes": column!(entry, "peak-memory"),
        "step_peak_bytes": column!(entry, "step-memory"),
        "step_total_bytes": column!(entry, "step-total-bytes"),
        "step_allocations": column!(entry, "step-allocations"),
        "peak_reduction": column!(entry, "peak-reduction"),
        "sqnr_db": column!(entry, "sqnr"),
        "max_abs_error": column!(entry, "max-abs-error"),
        "gates": accuracy.map(|accuracy| accuracy.gates.len()),
        "worst_gate": gate.map(|gate| gate.worst),
        "worst_gate_inputs": gate.map(|gate| &gate.inputs),
        "worst_gate_size": gate.map(|gate| &gate.size),
        "kernels": record.map(|record| &*record.kernels).unwrap_or_default(),
        "cautions": result.map(|it| &*it.cautions).unwrap_or_default(),
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
