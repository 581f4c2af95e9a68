//! A profile read and asked.

use std::path::Path;

use anyhow::Result;
use plan::Dtype;
use serde::Deserialize;
use serde_json::Value;

use super::limit::{PeakSource, Spread};
use super::operation::OperationKey;
use super::roofs::Roofline;
use super::schema::{FusionCalibration, OperationCalibration, Profile};
use crate::read::file;
use crate::render::units;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Products {
    pub gflops: Option<Spread>,
    pub efficiency: Option<Spread>,
}

impl Profile {
    pub const SCHEMA: &str = "criterion-torch/calibration";
    /// The version that this code writes, and the newest that it reads.
    pub const VERSION: u32 = 1;

    /// Reads a file of ours or of upstream.
    pub fn load(path: &Path) -> Result<Self> {
        /// The fields that are read first, since another version may fail in any other field.
        #[derive(Deserialize)]
        struct Stamp {
            schema: Option<String>,
            version: Option<u32>,
        }
        let text = file::read(path).map_err(|cause| file::unusable(path, cause))?;
        let malformed = |cause| {
            let why = format!(
                "not a calibration profile: {cause}; `criterion-report calibration --output` \
                 writes one"
            );
            file::unusable(path, why)
        };
        let Stamp { schema, version } = serde_json::from_slice(&text).map_err(malformed)?;
        let version = version.unwrap_or(0);
        if let Some(name) = schema
            && (name != Self::SCHEMA || version > Self::VERSION)
        {
            let why = format!(
                "schema {name} version {version}; this criterion-report reads {} up to version {}",
                Self::SCHEMA,
                Self::VERSION
            );
            return Err(file::unusable(path, why));
        }
        serde_json::from_slice(&text).map_err(malformed)
    }

    /// The roof over float32 on the most threads, which the summary fields are about.
    pub fn headline(&self) -> Option<&Roofline> {
        let float32 = self.rooflines.iter().filter(|roof| roof.dtype == Dtype::Float32);
        float32.max_by_key(|roof| roof.threads)
    }

    /// Threads on which the bandwidth of memory was measured that the summary fields are about.
    pub fn memory_threads(&self) -> Option<u32> {
        let memory = self.bandwidth_by_level.iter().filter(|it| it.level == "memory");
        memory.map(|it| it.threads).max()
    }

    /// The products that the summary fields are about. For upstream's files they are searched
    /// again: early files have bandwidths among them.
    pub fn products(&self) -> Products {
        let fields =
            [self.best_measured_gflops, self.avg_measured_gflops, self.worst_measured_gflops];
        let shares = [self.best_efficiency, self.avg_efficiency, self.worst_efficiency];
        if self.schema.is_some() {
            return Products { gflops: Spread::from(fields), efficiency: Spread::from(shares) };
        }
        let compute: Vec<&OperationCalibration> = self
            .operation_profiles
            .values()
            .filter(|operation| operation.measured_gflops > 0.0 && !operation.is_bandwidth())
            .collect();
        Products {
            gflops: Spread::of(compute.iter().map(|it| it.measured_gflops)),
            efficiency: Spread::of(compute.iter().filter_map(|it| it.efficiency)),
        }
    }

    /// Whether memory is the limit of an operation. In files without rooflines a constant decided,
    /// whatever the machine; here their own peaks do.
    pub fn is_memory_bound(&self, operation: &OperationCalibration) -> Option<bool> {
        if self.schema.is_some() {
            return operation.memory_bound;
        }
        let ridge = self.theoretical_peak_gflops? / self.theoretical_bandwidth_gbps?;
        Some(operation.arithmetic_intensity < ridge)
    }

    /// An operation in words: `copy 256MiB`; its key, if it is not in the profile.
    pub fn label(&self, key: &str) -> String {
        let Some(operation) = self.operation_profiles.get(key) else { return key.to_owned() };
        format!("{} {}", operation.name(), operation.size_name())
    }

    /// Whether a fusion of its dtype on its threads exceeds the roof, and so refutes its peak.
    pub fn is_refuted(&self, roof: &Roofline) -> bool {
        self.fusions().any(|fusion| {
            let params = &fusion.extra_params;
            let own = params.get("dtype").and_then(Value::as_str) == Some(roof.dtype.as_str())
                && params.get("threads").and_then(Value::as_u64) == Some(roof.threads.into());
            own && fusion.is_above_roof()
        })
    }

    /// The values above the peak that they are relative to, which shows that the peak is wrong.
    pub fn overshoots(&self) -> Vec<String> {
        let above = |what: &str, efficiency: Option<f64>, source: Option<&PeakSource>| {
            let efficiency = efficiency.filter(|efficiency| *efficiency > 1.0)?;
            let peak = match source {
                Some(PeakSource::Preset(name)) => format!("peak of preset {name}"),
                Some(_) | None => "given peak".to_owned(),
            };
            let percent = units::percent(efficiency);
            Some(format!("{what} is at {percent}: the {peak} is below what was measured"))
        };
        let sources = self.peak_source.as_ref();
        let gflops = sources.and_then(|sources| sources.gflops.as_ref());
        let bandwidth = sources.and_then(|sources| sources.bandwidth.as_ref());
        let best = self.products().efficiency.map(|it| it.best);
        let mut overshoots = Vec::new();
        overshoots.extend(above("the best product", best, gflops));
        overshoots.extend(above("memory", self.bandwidth_efficiency, bandwidth));
        overshoots
    }

    /// The fusions, each once. In our files an entry keyed by pattern name only is a copy and is skipped.
    pub fn fusions(&self) -> impl Iterator<Item = &FusionCalibration> {
        let ours = self.schema.is_some();
        let all = self.fusion_profiles.iter();
        all.filter(move |(key, it)| !ours || **key != it.fusion_pattern).map(|(_, it)| it)
    }

    /// The operation with exactly this key; never another of its type.
    pub fn operation(&self, key: &OperationKey) -> Option<&OperationCalibration> {
        self.operation_profiles.get(&key.to_string())
    }
}
