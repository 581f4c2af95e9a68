//! A record of the PyTorch OSS benchmark database: one metric of one case. Fields are written in
//! this order; all maps are of strings, as the database's columns are.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A map of strings that keeps its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Info(pub Vec<(&'static str, String)>);

impl Info {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// Adds an entry where there is a value.
    pub fn push(&mut self, key: &'static str, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| (key, value.to_string())));
    }
}

impl Serialize for Info {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_pairs(&self.0, serializer)
    }
}

fn serialize_pairs<T: Serialize, S: Serializer>(
    pairs: &[(&'static str, T)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(pairs.len()))?;
    for (key, value) in pairs {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// One metric of one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DbRecord {
    /// What was run.
    pub benchmark: Benchmark,
    /// On what.
    pub model: Model,
    /// With which result.
    pub metric: Metric,
    /// The machine. An empty list, as upstream wrote, keeps the uploader from filling it in.
    pub runners: Vec<Runner>,
    /// What else the result depends on.
    #[serde(serialize_with = "dependencies")]
    pub dependencies: Vec<(&'static str, Dependency)>,
}

fn dependencies<S: Serializer>(
    pairs: &[(&'static str, Dependency)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serialize_pairs(pairs, serializer)
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Benchmark {
    /// The name that dashboards filter on.
    pub name: &'static str,
    /// Inference or training.
    pub mode: String,
    /// The recipe, as upstream has it.
    pub dtype: String,
    /// Circumstances.
    pub extra_info: Info,
}

/// What it was run on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Model {
    /// Recipe and shape; a series on a dashboard is known by it.
    pub name: String,
    /// Kind of model.
    pub r#type: &'static str,
    /// What computes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<&'static str>,
    /// Where the model comes from.
    pub origins: &'static [&'static str],
    /// The model in detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_info: Option<Info>,
}

/// One number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// Name with unit.
    pub name: String,
    /// One value: the median.
    pub benchmark_values: [f64; 1],
    /// No target.
    pub target_value: f64,
    /// Unit and interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_info: Option<Info>,
}

/// The machine, in the database's terms: whole numbers, gigabytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runner {
    /// `cpu`, `cuda`, …
    pub name: String,
    /// The processor's or the GPU's name.
    pub r#type: String,
    /// CPU model.
    pub cpu_info: String,
    /// Logical CPUs.
    pub cpu_count: u32,
    /// Memory in whole GiB.
    pub avail_mem_in_gb: u64,
    /// GPU name, where the case ran on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_info: Option<String>,
    /// Host name and system.
    pub extra_info: Info,
}

/// Something that a result depends on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependency {
    /// Repository, `owner/name`.
    pub repo: &'static str,
    /// Branch; a release is known by its version.
    pub branch: &'static str,
    /// Commit; a release is known by its version.
    pub sha: &'static str,
    /// Version.
    pub version: String,
    /// More.
    pub extra_info: Info,
}
