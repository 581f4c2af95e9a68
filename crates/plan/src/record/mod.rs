//! A run leaves these on disk beside criterion's own files: one [`Record`] per case and run, and one
//! [`RunManifest`] per run. Schema versions are in the files; readers refuse newer ones.

mod accuracy;
mod check;
mod environment;
mod facts;
mod judged;
mod measures;
mod outcome;
mod pair;
mod profile;
mod wall;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

pub use accuracy::{Accuracy, Agreement, Gate, JsonFloat, TensorAccuracy};
pub use check::{Check, CheckStatus};
pub use environment::{Cache, Environment, HostFacts, Quiet, TorchFacts};
pub use facts::{Compilation, CudaGraph, KernelFacts, Memory, ModelFacts, StepMemory, Weights};
pub use judged::Judged;
pub use measures::{Clocks, Conditions, Counters, Energy, Latency, Measures, Range, Utilization};
pub use outcome::Outcome;
pub use pair::{Pair, PairAsCalled, Stop};
pub use profile::{
    GpuCounters, HardwareCounters, MemoryProfile, OperationProfile, Profile, ProfileFile,
    ProfileFileKind,
};
pub use wall::WallTimes;

use crate::case::Case;
use crate::shard::RunShard;

/// The last sample that criterion took of a case. It equals the last pair of `sample.json`
/// exactly when the estimates on disk come from this run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastSample {
    /// Iterations in the sample.
    pub iters: u64,
    /// Nanoseconds of the whole sample.
    pub ns: u64,
}

/// How criterion's sampling of a case was planned, from a pilot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Planned {
    /// Median time of a step in the pilot, in nanoseconds.
    pub step_ns: f64,
    /// Relative standard deviation of the pilot's batches, each as long as a sample; null where they
    /// were too few to show it.
    pub noise: Option<f64>,
    /// Samples that were asked for.
    pub samples: u64,
    /// Steps in each.
    pub iters: u64,
    /// Relative half-width of the median's interval that was aimed at.
    pub target: f64,
    /// The limit that set the number of samples.
    pub limited_by: Stop,
}

/// One line of `target/criterion-torch/<baseline>/<target>.jsonl`: a case as it went in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Version of this schema.
    pub version: u32,
    /// Criterion's `full_id`, the key.
    pub full_id: String,
    /// The run that wrote it.
    pub run_id: String,
    /// Seconds since the Unix epoch when the case ended.
    pub timestamp: u64,
    /// The case as it was planned.
    pub case: Case,
    /// How it ended.
    pub outcome: Outcome,
    /// ATen operations that did the work, and kernels of ours (`criterion_torch::…`), as declared; empty when
    /// nothing ran.
    #[serde(default)]
    pub kernels: Vec<String>,
    /// The weights as they are stored; absent unless the step ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// Facts about a user's kernel; absent for other work, and unless the step ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelFacts>,
    /// A user's kernel as another process has judged it; absent for other work, and where `absent` of the measures says
    /// why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// Facts about a model of the package's own; absent for other work, and unless the step ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFacts>,
    /// How it was compiled; absent for eager cases, and without a package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compilation: Option<Compilation>,
    /// Criterion's last sample; absent unless measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sample: Option<LastSample>,
    /// How criterion's sampling was planned; absent unless measured, and in quick mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Planned>,
    /// A candidate against other cases of its group, in blocks in which both ran in turn; else empty.
    #[serde(default)]
    pub pairs: Vec<Pair>,
    /// Why a measured candidate has no pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_pair: Option<String>,
    /// Measures that criterion does not hold.
    #[serde(default)]
    pub measures: Measures,
    /// The profile of a step; absent unless a profile was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The output against float64; absent unless the step ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// How long measuring it took; absent unless measured, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<WallTimes>,
    /// Things a reader of the numbers should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Machine, libraries and working tree.
    // Records of one run that are read in turn share them.
    #[serde(deserialize_with = "environment::shared")]
    pub environment: Arc<Environment>,
}

impl Record {
    /// The schema version this code writes.
    pub const VERSION: u32 = 2;

    /// Reads a line of a file of records. It is compiled here, once for the library, the report and estimates.
    ///
    /// # Errors
    /// If it is not a record in JSON; a version is not checked.
    pub fn from_json(line: &[u8]) -> serde_json::Result<Self> {
        match std::str::from_utf8(line) {
            Ok(text) => serde_json::from_str(text),
            // Each text of a slice is tested by itself. Only that says where one is not UTF-8.
            Err(_) => serde_json::from_value(serde_json::from_slice(line)?),
        }
    }

    /// Case and run of a line that is no whole record, each if it is complete.
    pub fn begun(line: &[u8]) -> (Option<String>, Option<String>) {
        let beginning = RefCell::default();
        let mut text = serde_json::Deserializer::from_slice(line);
        // The text is known to fail: its beginning is all that is wanted.
        text.deserialize_map(KeepBeginning(&beginning)).ok();
        let Beginning { full_id, run_id } = beginning.into_inner();
        (full_id, run_id)
    }

    /// The circumstances, no longer shared with other records.
    pub fn environment_mut(&mut self) -> &mut Environment {
        Arc::make_mut(&mut self.environment)
    }

    /// The pair of this case and the one with the id `other`.
    pub fn pair_with(&self, other: &str) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.against == other)
    }
}

#[derive(Default)]
struct Beginning {
    full_id: Option<String>,
    run_id: Option<String>,
}

/// Keeps what it has read when the rest fails.
struct KeepBeginning<'a>(&'a RefCell<Beginning>);

impl<'de> Visitor<'de> for KeepBeginning<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "full_id" => self.0.borrow_mut().full_id = map.next_value()?,
                "run_id" => self.0.borrow_mut().run_id = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// `target/criterion-torch/runs/<run-id>.json`: what a run was asked for and how it went. Beside
/// it, `<run-id>.running` holds the id of the case that is running, so that a crash has a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunManifest {
    /// Version of this schema.
    pub version: u32,
    /// Unique name of the run.
    pub run_id: String,
    /// Bench target.
    pub target: String,
    /// Name of the baseline that criterion saved under; absent when it saved nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Seconds since the Unix epoch.
    pub started: u64,
    /// Seconds since the Unix epoch; absent while running or after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<u64>,
    /// Arguments of the process.
    pub args: Vec<String>,
    /// The filter among them: a regular expression, or with `exact` a whole id. Absent in older manifests, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Whether the filter is a whole id.
    #[serde(default)]
    pub exact: bool,
    /// Whether it is of no run: `merge` wrote it of a plan whose cases other runs measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// The checks of the machine before the run; empty unless the run measures.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// A line for each check that did not pass.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The part of the bench target's plan that the run had; absent where it had the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<RunShard>,
    /// `full_id`s that the filter selected, of the shard if there is one.
    pub selected: Vec<String>,
    /// Selected ids that an earlier run had measured and that were kept (`--resume`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<String>,
    /// Cases by status.
    pub outcomes: BTreeMap<String, u64>,
}

impl RunManifest {
    /// The schema version this code writes.
    pub const VERSION: u32 = 1;

    /// Reads a manifest.
    ///
    /// # Errors
    /// If it is not a manifest in JSON; a version is not checked.
    pub fn from_json(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    /// The filter, and whether it is a whole id; of an older manifest by its arguments.
    #[cfg(feature = "flags")]
    pub fn selection(&self) -> Option<(&str, bool)> {
        match &self.filter {
            Some(filter) => Some((filter, self.exact)),
            None => crate::flag::filter(&self.args).map(|(filter, exact)| (&**filter, exact)),
        }
    }

    /// The selected ids that the run had to measure itself, in their order.
    pub fn owed(&self) -> impl Iterator<Item = &String> {
        let resumed: HashSet<&String> = self.resumed.iter().collect();
        self.selected.iter().filter(move |id| !resumed.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = r#"{
        "version": 1, "run_id": "inference-1-2", "target": "inference", "started": 7,
        "args": ["--bench"], "warnings": ["turbo is on"], "selected": ["a/b"],
        "outcomes": {"measured": 1}
    }"#;

    #[test]
    fn a_manifest_without_checks_is_read() {
        let manifest: RunManifest = serde_json::from_str(OLD).unwrap();
        assert_eq!((manifest.checks.len(), manifest.warnings.len()), (0, 1));
    }

    #[test]
    fn a_run_owes_what_it_did_not_resume() {
        let whole: RunManifest = serde_json::from_str(OLD).unwrap();
        assert!(whole.shard.is_none() && whole.resumed.is_empty(), "older manifests have none");
        assert!(!serde_json::to_string(&whole).unwrap().contains("resumed"));
        let ids = |ids: &[&str]| ids.iter().map(|&id| id.to_owned()).collect::<Vec<_>>();
        let run = RunManifest { selected: ids(&["c", "a", "b"]), resumed: ids(&["a"]), ..whole };
        assert_eq!(run.owed().collect::<Vec<_>>(), ["c", "b"]);
    }

    #[test]
    fn a_compilation_comes_back_as_it_was() {
        let compilation = Compilation {
            mode: crate::words::CompileMode::MaxAutotune,
            options: BTreeMap::from([("max_autotune".to_owned(), serde_json::json!(true))]),
            compiler: "torch 2.11.0, g++ 12.2.0, AVX512".to_owned(),
            seconds: 41.25,
            package_bytes: 213_904,
            cache_hit: true,
            key: "0f3b".to_owned(),
            cuda_graph: None,
        };
        let text = serde_json::to_string(&compilation).unwrap();
        assert!(text.starts_with(r#"{"mode":"max-autotune","options":{"max_autotune":true}"#));
        assert_eq!(serde_json::from_str::<Compilation>(&text).unwrap(), compilation);
    }

    #[test]
    fn only_what_is_compiled_has_an_agreement() {
        let eager = r#"{"sqnr_db":52.5,"max_abs_error":0.5,"relative_error":0.25,"min_sqnr_db":38.0,"rows_checked":64}"#;
        let accuracy: Accuracy = serde_json::from_str(eager).unwrap();
        assert_eq!(accuracy.eager, None);
        assert_eq!(serde_json::to_string(&accuracy).unwrap(), eager, "as it was before");
        let (sqnr_db, max_abs_error) = (JsonFloat(f64::INFINITY), JsonFloat(0.0));
        let agreement = Agreement { sqnr_db, max_abs_error, min_sqnr_db: 40.0 };
        let compiled = Accuracy { eager: Some(agreement), ..accuracy };
        let text = serde_json::to_string(&compiled).unwrap();
        let expected = r#""eager":{"sqnr_db":"inf","max_abs_error":0.0,"min_sqnr_db":40.0}}"#;
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(serde_json::from_str::<Accuracy>(&text).unwrap(), compiled);
    }

    #[test]
    fn a_manifest_comes_back_as_it_was() {
        let manifest = RunManifest {
            checks: vec![
                Check::passed("steal", "0.0 %"),
                Check::graded("turbo", CheckStatus::Warning, "on", "switch it off"),
                Check::skipped("governor", "no cpufreq here"),
            ],
            ..serde_json::from_str(OLD).unwrap()
        };
        let text = serde_json::to_string(&manifest).unwrap();
        assert_eq!(serde_json::from_str::<RunManifest>(&text).unwrap(), manifest);
    }
}
