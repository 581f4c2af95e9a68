//! The circumstances without which a number means nothing.

use std::cell::RefCell;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

/// The machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFacts {
    /// Host name.
    pub hostname: String,
    /// Operating system and kernel.
    pub os: String,
    /// The system's own name with its version (`PRETTY_NAME` of `os-release`).
    #[serde(default)]
    pub os_release: Option<String>,
    /// Instruction set of the CPU, as Rust calls it (`x86_64`, `aarch64`).
    #[serde(default)]
    pub arch: Option<String>,
    /// CPU model name.
    pub cpu_model: String,
    /// Logical CPUs available to the process.
    pub cpus: u32,
    /// Physical memory.
    pub memory_bytes: u64,
    /// Logical CPUs that the process may run on, as Linux lists them (`0-3,8`).
    #[serde(default)]
    pub affinity: Option<String>,
    /// NUMA nodes.
    #[serde(default)]
    pub numa_nodes: Option<u32>,
    /// Frequency governor of the CPUs that the process may run on.
    #[serde(default)]
    pub governor: Option<String>,
    /// Whether the processor may exceed its nominal frequency.
    #[serde(default)]
    pub turbo: Option<bool>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    #[serde(default)]
    pub huge_pages: Option<String>,
    /// Cost of one page fault, measured: mapping, zeroing and first write of one page.
    #[serde(default)]
    pub page_fault_ns: Option<f64>,
    /// Caches for data of the CPUs that the process may run on, the nearest first; equal ones once.
    #[serde(default)]
    pub caches: Vec<Cache>,
}

/// A cache that holds data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 for the nearest.
    pub level: u8,
    /// Its size.
    pub bytes: u64,
    /// Logical CPUs that share one.
    pub cpus: u32,
}

/// The library that computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TorchFacts {
    /// libtorch's version.
    pub libtorch: String,
    /// tch's version.
    pub tch: String,
    /// Instruction set that ATen dispatches to.
    pub cpu_capability: String,
    /// MKL's version, where libtorch was built with it.
    #[serde(default)]
    pub mkl: Option<String>,
    /// oneDNN's version, where libtorch was built with it.
    #[serde(default)]
    pub onednn: Option<String>,
    /// Intra-op threads in force while the case ran.
    pub threads: u32,
    /// Inter-op threads.
    #[serde(default)]
    pub interop_threads: Option<u32>,
    /// Precision of float32 matrix products (`highest`: no TF32).
    pub float32_matmul_precision: String,
    /// Whether cuBLAS and cuDNN may use TF32.
    #[serde(default)]
    pub tf32: Option<bool>,
    /// CUDA version of libtorch's build, where linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// Usable CUDA devices, where linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda_devices: Option<u32>,
    /// Name of the CUDA device, for a CUDA case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda_device: Option<String>,
    /// Version of the NVIDIA driver, for a CUDA case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda_driver: Option<String>,
}

/// How quiet the machine was when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quiet {
    /// Share of short slices of pure computation that took at most 2 % longer than the fastest; 1 is
    /// a machine that nothing else disturbs.
    pub score: f64,
    /// Runnable processes over one minute, when the run began.
    #[serde(default)]
    pub load_1m: Option<f64>,
    /// Share of the CPU time asked for that the hypervisor gave to others while the score was taken.
    #[serde(default)]
    pub steal: Option<f64>,
}

/// The circumstances without which a number is not stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// The machine.
    pub host: HostFacts,
    /// The library.
    pub torch: TorchFacts,
    /// Host allocator in force while the case ran.
    pub allocator: String,
    /// Git revision of the working tree, with `-dirty` if tracked files other than documents differ; absent
    /// outside a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_revision: Option<String>,
    /// Git branch of the working tree; absent outside a repository and where no branch is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// Git's error, if there is no revision although there is a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_refusal: Option<String>,
    /// Compiler that built the benchmark.
    pub rustc: String,
    /// Variables that steer the libraries and were set (`OMP_NUM_THREADS`, `GLIBC_TUNABLES`, …).
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub variables: std::collections::BTreeMap<String, String>,
    /// How quiet the machine was; absent when the run did not measure.
    #[serde(default)]
    pub quiet: Option<Quiet>,
}

impl Environment {
    /// The variables with their values, `OMP_NUM_THREADS=2, …`; empty where none was set.
    pub fn set_variables(&self) -> String {
        let set = self.variables.iter().map(|(name, value)| format!("{name}={value}"));
        set.collect::<Vec<_>>().join(", ")
    }

    /// The revision in words: `none`, with git's reason, where there is none.
    pub fn git(&self) -> String {
        match (&self.git_revision, &self.git_refusal) {
            (Some(revision), _) => revision.clone(),
            (None, Some(refusal)) => format!("none ({refusal})"),
            (None, None) => "none".to_owned(),
        }
    }
}

/// Reads circumstances; where they equal those that this thread read last, these are taken.
pub(super) fn shared<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Environment>, D::Error> {
    thread_local! {
        static LAST: RefCell<Option<Arc<Environment>>> = const { RefCell::new(None) };
    }
    let read = Environment::deserialize(from)?;
    Ok(LAST.with_borrow_mut(|last| match last {
        Some(last) if **last == read => Arc::clone(last),
        _ => Arc::clone(last.insert(Arc::new(read))),
    }))
}
