//! The cost of a case, by formula. Each formula has its one home here or beside the noun it is about,
//! and a worked example beside it or in `tests/costs.rs`.

mod model;
mod training;

use crate::case::Case;
pub use crate::catalogue::pattern::Operation;
use crate::catalogue::product;
pub use crate::catalogue::{REFERENCE_ELEMENTS, REFERENCE_ROWS, reduction};
use crate::linears::ModelSizes;
use crate::words::CacheMode;
use crate::work::{ModelWork, Work};

/// Fewest samples of a case: criterion takes no fewer.
pub const MIN_SAMPLES: u64 = 10;
/// Half-width of the 95 % interval to aim at, relative to the median, by default.
pub const DEFAULT_TARGET: f64 = 0.01;
/// Seconds that the warm-up may take by default.
pub const DEFAULT_WARM_UP_S: f64 = 0.5;
/// Seconds that sampling may take by default.
pub const DEFAULT_MEASUREMENT_S: f64 = 2.0;

/// Most seconds for which a GPU is heated up before it is measured in its sustained regime.
pub const HEAT_UP_S: f64 = 10.0;

/// Bytes written to empty the cache before a cold step: more than any cache that one device
/// reaches. The largest L3 of a server processor is 504 MB (Intel Xeon 6980P; on AMD's, one core
/// reaches at most 96 MB of its own die), the L2 of an NVIDIA B200 126 MB.
pub const FLUSH_BYTES: u64 = 512 << 20;

/// Floating-point operations of one step, a multiply and an add counted as two. A model counts
/// matrix products only ([`crate::ModelWork::flops`] of [`ModelSizes::flops`]: 2·rows·k·n for each linear layer, and 4m·16²·k for the
/// attention of the transformer block); the others count as in [`crate::FusionWork::flops`],
/// [`crate::OperatorWork::flops`] and [`crate::ProbeWork::flops`]. Saturates at `u64::MAX`, beyond
/// anything that can be run. `None` for a kernel and for a model of a package, which state their
/// operations when they run.
pub fn flops(case: &Case) -> Option<u64> {
    match &case.work {
        Work::Model(work) => Some(work.flops(&work.sizes()?)),
        Work::Fusion(work) => Some(work.flops()),
        Work::Operator(work) => Some(work.flops()),
        Work::Probe(work) => Some(work.flops(case.dtype)),
        Work::Kernel(_) => None,
    }
}

/// Bytes that a step of an operator ([`crate::OperatorWork::bytes`]) or of a probe
/// ([`crate::ProbeWork::bytes`]) moves; of models and patterns none is counted.
pub fn moved_bytes(case: &Case) -> Option<u64> {
    match &case.work {
        Work::Model(_) | Work::Fusion(_) | Work::Kernel(_) => None,
        Work::Operator(work) => Some(work.bytes(case.dtype)),
        Work::Probe(work) => Some(work.bytes(case.dtype)),
    }
}

/// An estimate, in bytes and rather high than low, of the memory that building, checking and
/// running a case takes at once. Nothing of a kernel or of a model of a package is in it.
pub fn memory_bytes(case: &Case) -> u64 {
    memory_bytes_of(case, case.work.model().and_then(ModelWork::sizes).as_ref())
}

/// [`memory_bytes`], where the sizes of its model are known, if it is a model's.
pub fn memory_bytes_of(case: &Case, sizes: Option<&ModelSizes>) -> u64 {
    let own = match &case.work {
        Work::Model(work) => sizes.map_or(0, |sizes| match work.pass {
            Some(pass) => training::memory_bytes(work, pass, sizes, case.dtype),
            None => model::memory_bytes(work, sizes, case.dtype, case.device),
        }),
        Work::Fusion(work) => work.memory_bytes(case.dtype),
        Work::Operator(work) => work.memory_bytes(case.dtype),
        Work::Probe(work) => work.memory_bytes(case.dtype),
        // Nothing is known of it before it runs.
        Work::Kernel(_) => 0,
    };
    // A compiled case holds the tensors of its eager twin once, and is taken to allocate no more than
    // it while it runs. The check needs the outputs of both.
    let twin = if case.work.compile().is_some() { output_bytes(case, sizes) } else { 0 };
    let flush = match case.settings.cache {
        CacheMode::Cold => FLUSH_BYTES,
        CacheMode::Hot => 0,
    };
    own.saturating_add(twin).saturating_add(flush)
}

/// Bytes of a step's output; of a probe none is counted.
fn output_bytes(case: &Case, sizes: Option<&ModelSizes>) -> u64 {
    let elements = match &case.work {
        Work::Model(_) => sizes.map_or(0, |sizes| product(&sizes.output)),
        Work::Fusion(work) => product(&work.output_size()),
        Work::Operator(work) => work.traffic().output,
        Work::Probe(_) | Work::Kernel(_) => 0,
    };
    elements.saturating_mul(case.dtype.bytes())
}

/// An estimate, in bytes and rather high than low, of the host's memory that building and checking
/// a case on another device takes at once: for what is drawn on the host, and for a reference that
/// is computed there; `sizes` are those of its model, where they are known. Nothing of a kernel is in it.
pub fn host_bytes_of(case: &Case, sizes: Option<&ModelSizes>) -> u64 {
    match &case.work {
        Work::Model(_) => sizes.map_or(0, |sizes| model::drawing_bytes(sizes, case.dtype)),
        Work::Fusion(work) => work.host_bytes(case.dtype),
        Work::Operator(work) => work.host_bytes(case.dtype),
        Work::Probe(work) => work.host_bytes(case.dtype),
        Work::Kernel(_) => 0,
    }
}

/// Approximate bytes that a step of a model or a pattern moves: weights, inputs, temporaries and activations. Only
/// estimates of time use it; reports do not show it.
#[cfg(feature = "estimate")]
pub(crate) fn step_bytes(case: &Case) -> u64 {
    match &case.work {
        Work::Model(work) => {
            work.sizes().map_or(0, |sizes| model::step_bytes(work, &sizes, case.dtype))
        }
        Work::Fusion(work) => work.memory_bytes(case.dtype),
        _ => moved_bytes(case).unwrap_or(0),
    }
}

/// Approximate operations of the reference that the output is compared with. The reference computes a few rows, but in
/// training all of them, because a weight's gradient sums over them.
#[cfg(feature = "estimate")]
pub(crate) fn reference_flops(case: &Case) -> u64 {
    let all = flops(case).unwrap_or(0);
    match &case.work {
        Work::Model(work) if work.pass.is_none() => {
            let (rows, widest) = (work.shape.m.max(1), work.shape.k.max(work.shape.n).max(1));
            let checked = rows.min((REFERENCE_ELEMENTS / widest).max(REFERENCE_ROWS));
            (u128::from(all) * u128::from(checked) / u128::from(rows)) as u64
        }
        _ => all,
    }
}
