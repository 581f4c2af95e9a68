//! The array: upstream's results under its own names, and in each object what they lack.
//!
//! Upstream's file is an array without a head, which its scripts iterate over: so schema and version
//! are in every object.

use std::io::Write;

use anyhow::Result;
use plan::{CompileMode, Implementation};

use crate::model::{Column, EfficiencySource, Missing, OperatorResult, Part, Report, Standing};
use crate::object::{Columns, object};
use crate::units;
use crate::write::Notes;

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
        |result: &&OperatorResult<'_>| !compat || !streams(result) && result.row.time.is_ok();
    let mut items: Vec<Item<'_>> = results.iter().filter(taken).map(Item::Recorded).collect();
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
    serde_json::to_writer_pretty(&mut *out, &items)?;
    out.write_all(b"\n")?;
    Ok(notes)
}

/// One implementation at one size; of a case without a record nothing is known but its id.
enum Item<'a> {
    Recorded(&'a OperatorResult<'a>),
    Missing(&'a Missing),
}

impl<'a> Item<'a> {
    fn result(&self) -> Option<&'a OperatorResult<'a>> {
        match self {
            Self::Recorded(result) => Some(result),
            Self::Missing(_) => None,
        }
    }
}

const UPSTREAM: &[Column] = &[
    Column::new("time_ms", "latency").per(1e6),
    Column::new("memory_mb", "peak-memory").per(1_048_576.0),
    Column::new("inference_speed", "throughput"),
];

const BANDWIDTH: &[Column] = &[Column::new("throughput_gbps", "bandwidth")];

const RATES: &[Column] =
    &[Column::new("gb_per_s", "bandwidth"), Column::new("gflop_per_s", "gflops")];

const CIRCUMSTANCES: &[Column] = &[
    Column::new("threads_in_force", "threads"),
    Column::new("hostname", "hostname"),
    Column::new("libtorch", "libtorch"),
    Column::new("git_revision", "git-revision"),
];

const TIME: &[Column] = &[
    Column::new("time_low_ms", "latency").part(Part::Low).per(1e6),
    Column::new("time_high_ms", "latency").part(Part::High).per(1e6),
    Column::new("time_confidence_level", "confidence-level"),
    Column::new("samples", "samples"),
    Column::new("quick", "quick"),
    Column::new("calls_per_s", "throughput"),
];

const SPEEDUP: &[Column] = &[
    Column::new("speedup", "speedup"),
    Column::new("speedup_low", "speedup").part(Part::Low),
    Column::new("speedup_high", "speedup").part(Part::High),
];

const BLOCKS: &[Column] = &[
    Column::new("blocks", "pair-blocks"),
    Column::new("pair_builds", "pair-builds"),
    Column::new("pair_within", "pair-within"),
    Column::new("pair_between", "pair-between"),
    Column::new("verdict", "verdict"),
];

const OVER_EAGER: &[Column] = &[
    Column::new("speedup_over_eager", "speedup-over-eager"),
    Column::new("speedup_over_eager_low", "speedup-over-eager").part(Part::Low),
    Column::new("speedup_over_eager_high", "speedup-over-eager").part(Part::High),
    Column::new("speedup_over_eager_source", "speedup-over-eager-source"),
];

const MEMORY: &[Column] = &[
    Column::new("peak_bytes", "peak-memory"),
    Column::new("step_peak_bytes", "step-memory"),
    Column::new("step_total_bytes", "step-total-bytes"),
    Column::new("step_allocations", "step-allocations"),
    Column::new("peak_reduction", "peak-reduction"),
    Column::new("sqnr_db", "sqnr"),
    Column::new("max_abs_error", "max-abs-error"),
];

// The names are part of the command's contract; upstream's come first, in its order.
object! {
    Item<'_> => |it| [
        result = it.result();
        entry = result.map(|it| it.entry);
        row = result.map(|it| it.row);
        record = row.map(|row| &row.record);
        work = result.map(|it| it.key.work);
        place = result.map(|it| &it.key.place);
        utilization = record.and_then(|record| record.measures.utilization.as_ref());
        accuracy = record.and_then(|record| record.accuracy.as_ref());
        gate = row.and_then(|row| row.worst_gate());
        efficiency = result.and_then(|it| it.efficiency.as_ref().ok());
        share = efficiency.and_then(|efficiency| efficiency.interval);
        source = efficiency.map(|efficiency| &efficiency.source);
        ceiling = source.and_then(EfficiencySource::ceiling);
        pair = result.map(|it| it.speedup.as_ref());
        level = pair.flatten().and_then(|it| Some(it.as_ref().ok()?.confidence_level));
        eager = entry.and_then(|entry| entry.compilation);
    ] {
        "operation": work.map(|work| work.operator.upstream()),
        "implementation": work.map(|work| implementation(work.implementation, work.compile)),
        "batch_size": work.map(|work| work.size.batch_size),
        "sequence_length": work.map(|work| work.size.sequence_length),
        "tensor_dimension": work.map(|work| work.size.tensor_dimension),
        _: Columns(UPSTREAM, entry),
        "gpu_efficiency": efficiency.map(|efficiency| efficiency.share * 100.0),
        _: Columns(BANDWIDTH, entry),
        "schema": "criterion-torch/operators",
        "version": 1,
        "full_id": match it {
            Item::Recorded(result) => result.row.full_id(),
            Item::Missing(missing) => &missing.full_id,
        },
        "config": record.map(|record| &record.case.config),
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
        _: Columns(CIRCUMSTANCES, entry),
        "outcome": record.map_or("missing", |record| record.outcome.status()),
        "reason": match it {
            Item::Recorded(result) => result.row.reason(),
            Item::Missing(missing) => Some(missing.reason.clone()),
        },
        "run_id": record.map(|record| &record.run_id),
        "timestamp": record.map(|record| record.timestamp),
        _: Columns(TIME, entry),
        "elements_per_s": result.and_then(OperatorResult::elements_per_s),
        _: Columns(RATES, entry),
        "bytes": result.and_then(OperatorResult::bytes),
        "flops": row.and_then(|row| row.flops()),
        "standing": result.and_then(|it| it.standing).map(Standing::word),
        "gpu_efficiency_low": share.map(|interval| interval.low * 100.0),
        "gpu_efficiency_high": share.map(|interval| interval.high * 100.0),
        "efficiency_source": source.map(EfficiencySource::word),
        "efficiency_method": source.and_then(EfficiencySource::method),
        "limit_gb_per_s": ceiling.map(|ceiling| ceiling.gb_per_s),
        "limit_level": ceiling.map(|ceiling| &ceiling.level),
        "limit_operation": ceiling.map(|ceiling| &ceiling.operation),
        "no_efficiency_reason": result.and_then(|it| Some(it.efficiency.as_ref().err()?.to_string())),
        // In percent, as `gpu_efficiency` is.
        "sm_utilization": utilization.map(|it| it.sm.median * 100.0),
        "memory_utilization": utilization.map(|it| it.memory.median * 100.0),
        "utilization_samples": utilization.map(|it| it.samples),
        "no_utilization_reason": record.and_then(|it| it.measures.absent.get("utilization")),
        _: Columns(SPEEDUP, entry),
        "speedup_confidence_level": level,
        _: Columns(BLOCKS, entry),
        "no_speedup_reason": pair.and_then(|pair| match pair {
            None => Some("the others are compared with it".to_owned()),
            Some(pair) => pair.as_ref().err().map(ToString::to_string),
        }),
        _: Columns(OVER_EAGER, entry),
        "no_speedup_over_eager_reason": eager.and_then(|it| Some(it.gain.as_ref().err()?.to_string())),
        "compilation": record.and_then(|record| record.compilation.as_ref()),
        "eager_agreement": accuracy.and_then(|accuracy| accuracy.eager),
        _: Columns(MEMORY, entry),
        "gates": accuracy.map(|accuracy| accuracy.gates.len()),
        "worst_gate": gate.map(|gate| gate.worst),
        "worst_gate_inputs": gate.map(|gate| &gate.inputs),
        "worst_gate_size": gate.map(|gate| &gate.size),
        "kernels": record.map(|record| &*record.kernels).unwrap_or_default(),
        "cautions": result.map(|it| &*it.cautions).unwrap_or_default(),
    }
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
