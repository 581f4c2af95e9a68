//! A profiled step: its operations, its memory, the processor's counters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hash::hex;

/// Steps of a case run once more under libtorch's profiler, in a process that times nothing.
///
/// Times are per step and contain what the profiler costs: compare `step_ns` with the case's own time. A part that is
/// null has its reason in `absent`, under its own name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Number of steps whose means the figures are.
    pub steps: u64,
    /// Wall time of a profiled step, in nanoseconds.
    pub step_ns: f64,
    /// The part of it on the host outside every recorded operation, in nanoseconds. The sum of all `self_ns` of the
    /// step's thread and this part is `step_ns`.
    pub outside_ns: f64,
    /// The operations, one entry per name and shapes, the longest `self_ns` (on a device `device_ns`) first.
    pub operations: Vec<OperationProfile>,
    /// Memory of a step over time.
    pub memory: Option<MemoryProfile>,
    /// The processor's own counters.
    pub hardware: Option<HardwareCounters>,
    /// The GPU's own counters, in the place of `hardware`, whose reason in `absent` is theirs, too; absent on a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuCounters>,
    /// Files that were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ProfileFile>,
    /// The reason for each null part, by the part's name.
    /// `device` says why no operation of a step on a GPU has `device_ns`.
    #[serde(default)]
    pub absent: BTreeMap<String, String>,
}

/// An operation of a profiled step, such as `aten::addmm`; means per step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationProfile {
    /// Its name in torch's profiler. A kernel that no recorded operation launched has an entry of its own, under the
    /// kernel's name and without times on the host.
    pub name: String,
    /// Shapes of its tensor arguments, an empty list for an argument that is no tensor.
    pub shapes: Vec<Vec<i64>>,
    /// Their dtypes as torch names them, an empty text for an argument that is no tensor.
    pub dtypes: Vec<String>,
    /// Calls in a step.
    pub calls: f64,
    /// Nanoseconds on the host without the operations that it calls.
    pub self_ns: f64,
    /// Nanoseconds on the host, including the operations that it calls.
    pub total_ns: f64,
    /// Nanoseconds of the kernels that it launched itself; absent on a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_ns: Option<f64>,
    /// Floating-point operations of all calls, if torch has a formula for them.
    pub flops: Option<u64>,
    /// Bytes of the tensor arguments of all calls, by shape and dtype; absent where a dtype is not known.
    pub input_bytes: Option<u64>,
    /// Bytes that it allocated itself.
    pub allocated_bytes: u64,
    /// Whether it calls no other recorded operation.
    pub is_leaf: bool,
}

/// Memory of one step, from every allocation and release.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryProfile {
    /// Most bytes that the step itself held at once.
    pub peak_bytes: u64,
    /// The operations whose blocks were live at that moment, with their bytes, the most first.
    pub at_peak: Vec<(String, u64)>,
    /// Number of recorded allocations and releases.
    pub events: u64,
    /// torch's `allocated_bytes.all.peak`, `active_bytes.all.peak` and `reserved_bytes.all.peak`, in bytes; on a CPU
    /// the first alone.
    #[serde(default)]
    pub stats: BTreeMap<String, u64>,
}

/// Hardware counters of the CPU per step, in user mode, over all threads of the process: one group for each thread.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardwareCounters {
    /// Clock cycles.
    pub cycles: f64,
    /// Instructions retired.
    pub instructions: f64,
    /// References to the last-level cache.
    pub cache_references: f64,
    /// References that missed it.
    pub cache_misses: f64,
    /// Loads that missed the first-level data TLB.
    pub tlb_misses: f64,
}

/// Hardware counters of the GPU over one step, as CUPTI's range profiler reads them. The step runs once for each pass that
/// they take. Shares are from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GpuCounters {
    /// Clock cycles of the multiprocessors (SMs): `sm__cycles_elapsed.max`.
    pub cycles: f64,
    /// Throughput of the busiest unit of the SMs over its peak: `sm__throughput.avg.pct_of_peak_sustained_elapsed`.
    pub sm_throughput: f64,
    /// Cycles in which the tensor cores were active: `sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed`.
    pub tensor_active: f64,
    /// Achieved occupancy, active warps over the most that fit: `sm__warps_active.avg.pct_of_peak_sustained_active`.
    pub occupancy: f64,
    /// Bytes read from the device's memory and written to it: `dram__bytes.sum`.
    pub dram_bytes: f64,
    /// Throughput of the device's memory over its peak: `dram__throughput.avg.pct_of_peak_sustained_elapsed`.
    pub dram_throughput: f64,
    /// Share of requested sectors that the L2 cache had: `lts__t_sector_hit_rate.pct`.
    pub l2_hit_rate: f64,
}

/// A file of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileFile {
    /// The kind of the file.
    pub kind: ProfileFileKind,
    /// Its path, relative to `target/criterion-torch`.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// FNV-1a of its content, 64 bits in hexadecimal. A later profile of the case writes to the same path, so this tells
    /// whether the file there still belongs to the record. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

/// The kind of a profile file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProfileFileKind {
    /// A Chrome trace of Kineto, as JSON.
    Trace,
    /// A memory snapshot as torch's own visualizer reads it.
    MemorySnapshot,
    /// Bytes over time by operation, drawn as SVG.
    MemoryTimeline,
}

impl ProfileFile {
    /// The entry of a file with this content.
    pub fn new(kind: ProfileFileKind, path: String, content: &[u8]) -> Self {
        Self { kind, path, bytes: content.len() as u64, checksum: Some(hex(content)) }
    }

    /// Whether a file with this content is the one that was recorded. Older records only know its size.
    pub fn has(&self, content: &[u8]) -> bool {
        self.bytes == content.len() as u64
            && self.checksum.as_ref().is_none_or(|checksum| *checksum == hex(content))
    }
}

impl Profile {
    /// The file of this kind, if it was written.
    pub fn file(&self, kind: ProfileFileKind) -> Option<&ProfileFile> {
        self.files.iter().find(|file| file.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_size_and_its_content() {
        let file = ProfileFile::new(ProfileFileKind::Trace, "profiles/x.json".to_owned(), b"{1}");
        assert_eq!((file.bytes, file.checksum.as_ref().map(String::len)), (3, Some(16)));
        assert!(file.has(b"{1}"));
        assert!(!file.has(b"{2}"), "of the same size");
        let older = ProfileFile { checksum: None, ..file };
        assert!(older.has(b"{2}") && !older.has(b"{12}"), "the size is all that is known");
    }
}
