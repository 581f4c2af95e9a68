//! An object of the array: one implementation at one size.

use plan::{CompileMode, Dtype, Implementation, Operator};
use serde::Serialize;

use super::measured::{Checked, Compiled, InUse, Limit, Memory, Speed, Versus};
use crate::model::{Missing, OperatorResult};
use crate::write::place::Where;

/// The version of the objects that this code writes.
const VERSION: u32 = 1;

/// The names are part of the command's contract; upstream's come first, in its order. What a part
/// measures is in a group of its own.
#[derive(Serialize)]
pub struct Entry<'a> {
    #[serde(flatten)]
    upstream: Upstream,
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    key: Key<'a>,
    #[serde(flatten)]
    outcome: Ended<'a>,
    #[serde(flatten)]
    speed: Speed,
    #[serde(flatten)]
    limit: Limit<'a>,
    #[serde(flatten)]
    in_use: InUse<'a>,
    #[serde(flatten)]
    versus: Versus,
    #[serde(flatten)]
    compiled: Compiled<'a>,
    #[serde(flatten)]
    memory: Memory,
    #[serde(flatten)]
    checked: Checked<'a>,
}

impl<'a> Entry<'a> {
    /// The entry of a case with a record.
    pub fn of(result: &'a OperatorResult<'a>) -> Self {
        Self {
            upstream: Upstream::of(result),
            key: Key::of(result),
            outcome: Ended::of(result),
            speed: Speed::of(result),
            limit: Limit::of(result),
            in_use: InUse::of(result),
            versus: Versus::of(result),
            compiled: Compiled::of(result),
            memory: Memory::of(result),
            checked: Checked::of(result),
            ..Self::empty()
        }
    }

    /// The entry of a case without a record: nothing is known but its id.
    pub fn missing(missing: &'a Missing) -> Self {
        let reason = Some(missing.reason.clone());
        let key = Key { full_id: &missing.full_id, ..Key::default() };
        let outcome = Ended { outcome: "missing", reason, ..Ended::default() };
        Self { key, outcome, ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            upstream: Upstream::default(),
            schema: "criterion-torch/operators",
            version: VERSION,
            key: Key::default(),
            outcome: Ended::default(),
            speed: Speed::default(),
            limit: Limit::default(),
            in_use: InUse::default(),
            versus: Versus::default(),
            compiled: Compiled::default(),
            memory: Memory::default(),
            checked: Checked::default(),
        }
    }
}

/// Every field of upstream's results, in its units.
#[derive(Default, Serialize)]
struct Upstream {
    operation: Option<&'static str>,
    implementation: Option<String>,
    batch_size: Option<u64>,
    sequence_length: Option<u64>,
    tensor_dimension: Option<u64>,
    time_ms: Option<f64>,
    memory_mb: Option<f64>,
    inference_speed: Option<f64>,
    gpu_efficiency: Option<f64>,
    throughput_gbps: Option<f64>,
}

impl Upstream {
    fn of(result: &OperatorResult<'_>) -> Self {
        let row = result.row;
        let size = result.key.size;
        let memory = row.record.measures.memory.map(|memory| memory.peak_bytes());
        let share = result.efficiency.as_ref().ok().map(|efficiency| efficiency.share);
        Self {
            operation: Some(result.key.operator.upstream()),
            implementation: Some(implementation(result.key.implementation, result.key.compile)),
            batch_size: Some(size.batch_size),
            sequence_length: Some(size.sequence_length),
            tensor_dimension: Some(size.tensor_dimension),
            time_ms: row.time.as_ref().ok().map(|time| time.median_ns / 1e6),
            memory_mb: memory.map(|bytes| bytes as f64 / f64::from(1 << 20)),
            inference_speed: row.steps_per_s(),
            gpu_efficiency: share.map(|share| share * 100.0),
            throughput_gbps: row.gb_per_s(),
        }
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

/// What the object is of.
#[derive(Default, Serialize)]
struct Key<'a> {
    full_id: &'a str,
    config: Option<&'a str>,
    operator: Option<Operator>,
    variant: Option<Implementation>,
    compile: Option<CompileMode>,
    size: Option<String>,
    dtype: Option<Dtype>,
    #[serde(flatten)]
    place: Where<'a>,
    threads_in_force: Option<u32>,
    hostname: Option<&'a str>,
    libtorch: Option<&'a str>,
    git_revision: Option<&'a str>,
}

impl<'a> Key<'a> {
    fn of(result: &'a OperatorResult<'a>) -> Self {
        let (key, record) = (&result.key, &result.row.record);
        let environment = &record.environment;
        Self {
            full_id: &record.full_id,
            config: Some(&record.case.config),
            operator: Some(key.operator),
            variant: Some(key.implementation),
            compile: key.compile,
            size: Some(key.size.to_string()),
            dtype: Some(key.dtype),
            place: Where::of(&key.place),
            threads_in_force: Some(environment.torch.threads),
            hostname: Some(&environment.host.hostname),
            libtorch: Some(&environment.torch.libtorch),
            git_revision: environment.git_revision.as_deref(),
        }
    }
}

/// How it ended.
#[derive(Default, Serialize)]
struct Ended<'a> {
    outcome: &'static str,
    reason: Option<String>,
    run_id: Option<&'a str>,
    timestamp: Option<u64>,
}

impl<'a> Ended<'a> {
    fn of(result: &'a OperatorResult<'a>) -> Self {
        let record = &result.row.record;
        Self {
            outcome: record.outcome.status(),
            reason: result.row.reason(),
            run_id: Some(&record.run_id),
            timestamp: Some(record.timestamp),
        }
    }
}
