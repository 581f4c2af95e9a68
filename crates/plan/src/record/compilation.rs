//! How a case was compiled.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::words::CompileMode;

/// How a case was compiled: never part of a timing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compilation {
    /// Mode of `torch.compile`.
    pub mode: CompileMode,
    /// Inductor's settings that differ from its defaults, by name.
    pub options: BTreeMap<String, serde_json::Value>,
    /// The compiler and its target, e.g. `torch 2.11.0, g++ 12.2.0, AVX512 AVX512_VNNI`.
    pub compiler: String,
    /// Seconds that the compilation took, whenever that was.
    pub seconds: f64,
    /// Bytes of the package on disk.
    pub package_bytes: u64,
    /// Whether it was there already, of an earlier run.
    pub cache_hit: bool,
    /// Name in the cache.
    pub key: String,
}
