//! Cases, groups and plans: the expansion of configs, fully resolved.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::settings::{Profiling, Settings};
use crate::words::{Device, Dtype, Mode};
use crate::work::Work;

/// A criterion benchmark's identity:
/// `<target>/<config>/<workload>/<device>` (group) `/ <variant>` (function) `/ <parameter>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseId {
    /// Criterion's group id.
    pub group: String,
    /// Criterion's function id: what distinguishes siblings.
    pub variant: String,
    /// Criterion's parameter: dtype and shape. Shared by a baseline and its candidates.
    pub parameter: String,
}

impl CaseId {
    /// The folder that criterion writes for this id, inside its own.
    pub fn directory(&self) -> PathBuf {
        let safe = |part: &str| -> String {
            part.chars().map(|c| if "?\"/\\*<>:|^".contains(c) { '_' } else { c }).collect()
        };
        [&self.group, &self.variant, &self.parameter].map(|part| safe(part)).iter().collect()
    }
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.group, self.variant, self.parameter)
    }
}

/// The word of the mode of an id, its first part.
pub fn mode_of(id: &str) -> &str {
    id.split('/').next().unwrap_or_default()
}

/// The role of a case in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The case that the others are compared with; exactly one per group.
    Baseline,
    /// Compared with the baseline.
    Candidate,
}

/// One criterion benchmark, fully resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Case {
    /// Identity; `id.to_string()` is criterion's `full_id`.
    pub id: CaseId,
    /// Config: the file's stem.
    pub config: String,
    /// Hash of the config's text, 16 hexadecimal digits: which edit of it this case came from. For
    /// a kernel it covers its `bench.yaml` and its sources, too.
    #[serde(default)]
    pub config_hash: String,
    /// The `name`s of the config's entries that this case stands for.
    pub names: Vec<String>,
    /// Baseline or candidate.
    pub role: Role,
    /// The benchmark mode, the first part of the id.
    pub mode: Mode,
    /// The work that is run.
    #[serde(flatten)]
    pub work: Work,
    /// Dtype of inputs and parameters, before quantization.
    pub dtype: Dtype,
    /// Device.
    pub device: Device,
    /// Every shape name that expanded to this shape, in order, without repetition.
    pub shape_names: Vec<String>,
    /// Traces asked for.
    pub profiling: Profiling,
    /// How it is measured.
    pub settings: Settings,
}

impl Case {
    /// The variant in full, also where the id had to shorten it.
    pub fn variant(&self) -> String {
        self.work.variant()
    }

    /// Criterion's `full_id`, the key of every join.
    pub fn full_id(&self) -> String {
        self.id.to_string()
    }
}

/// Cases that differ only in their variant: a baseline and its candidates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The members, the baseline first.
    pub cases: Vec<Case>,
}

impl Group {
    /// The case that the others are compared with.
    ///
    /// # Panics
    /// Never for a group made by the expansion, which puts the baseline first.
    pub fn baseline(&self) -> &Case {
        self.cases.first().expect("the expansion puts a baseline into every group")
    }

    /// The common part of its cases' ids: all but the variant.
    pub fn id(&self) -> String {
        let CaseId { group, parameter, .. } = &self.baseline().id;
        format!("{group}/{parameter}")
    }
}

/// The most cases of one plan. At a second each they would take more than eleven days.
pub(crate) const MOST_CASES: usize = 1_000_000;

/// Everything that the given configs expand to, in the order of the files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Groups in the order in which they are measured.
    pub groups: Vec<Group>,
}

impl Plan {
    /// Reads a plan that a build script wrote.
    ///
    /// # Errors
    /// If it is not a plan of this version in JSON.
    pub fn from_json(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    /// All cases, in the order in which they are measured.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.groups.iter().flat_map(|group| &group.cases)
    }
}
