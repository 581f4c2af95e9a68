//! The operations of a profile, by name: which are products, which convert a weight, which move nothing.

use schemars::JsonSchema;
use serde::Serialize;

/// The library that an operation's product comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Library {
    /// ATen, with the BLAS library that libtorch was built with.
    Aten,
    /// oneDNN.
    Onednn,
}

/// The time that an operation takes in a step, all its shapes together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OperationTime {
    /// Its name in torch's profiler; null for the time outside every recorded operation.
    pub name: Option<String>,
    /// Calls in a step.
    pub calls: f64,
    /// Nanoseconds of it alone, scaled to the case's time.
    pub ns: f64,
    /// Share of the case's time.
    pub share: f64,
    /// Bytes of its arguments and of what it allocates; null where they are not known, or where nothing moves.
    pub bytes: Option<u64>,
    /// Its floating-point operations, where torch's formula knows them.
    pub flops: Option<u64>,
    /// The least time that these take on this machine, in nanoseconds.
    pub limit_ns: Option<f64>,
}
