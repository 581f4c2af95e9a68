//! critcmp's exchange format: what `critcmp --export` writes, and reads beside baselines. It has
//! criterion's names and estimates; records, samples and machines have no place in it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer};

use crate::model::criterion_result::{Benchmark, Estimates};

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CritcmpBaseline {
    pub name: String,
    /// Its benchmarks, by `full_id`.
    #[serde(deserialize_with = "in_order")]
    pub benchmarks: Vec<CritcmpBenchmark>,
    /// Benchmarks that are left out because their numbers cannot be times, a line each.
    #[serde(skip)]
    pub unreadable: Vec<String>,
}

impl CritcmpBaseline {
    /// Without what cannot be used.
    pub fn checked(mut self, path: &Path) -> Self {
        self.benchmarks.retain(|it| match it.estimates.check() {
            Ok(()) => true,
            Err(why) => {
                let id = &it.benchmark.full_id;
                self.unreadable.push(format!("{}: {id}: {why}", path.display()));
                false
            }
        });
        self
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CritcmpBenchmark {
    #[serde(rename = "criterion_benchmark_v1")]
    pub benchmark: Benchmark,
    #[serde(rename = "criterion_estimates_v1")]
    pub estimates: Estimates,
}

fn in_order<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CritcmpBenchmark>, D::Error> {
    let benchmarks: BTreeMap<String, CritcmpBenchmark> = BTreeMap::deserialize(from)?;
    Ok(benchmarks.into_values().collect())
}
