//! critcmp's exchange format: what `critcmp --export` writes, and reads beside baselines. It has
//! criterion's names and estimates; records, samples and machines have no place in it.

use serde::{Deserialize, Deserializer};

use std::collections::BTreeMap;

use crate::model::criterion_result::{Benchmark, Estimates};

/// A baseline.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CritcmpBaseline {
    /// Its name.
    pub name: String,
    /// Its benchmarks, by `full_id`.
    #[serde(deserialize_with = "in_order")]
    pub benchmarks: Vec<CritcmpBenchmark>,
}

/// One benchmark of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CritcmpBenchmark {
    /// What was measured.
    #[serde(rename = "criterion_benchmark_v1")]
    pub benchmark: Benchmark,
    /// What criterion made of the samples, in nanoseconds.
    #[serde(rename = "criterion_estimates_v1")]
    pub estimates: Estimates,
}

fn in_order<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CritcmpBenchmark>, D::Error> {
    let benchmarks: BTreeMap<String, CritcmpBenchmark> = BTreeMap::deserialize(from)?;
    Ok(benchmarks.into_values().collect())
}
