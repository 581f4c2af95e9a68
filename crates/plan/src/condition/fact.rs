//! What a condition can ask about.

use crate::words::closed::closed_set;
use crate::words::{Device, Dtype};

/// What an expression, or a fact, stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// Text.
    Text,
}

impl Kind {
    /// The name that errors give it.
    pub(super) const fn described(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Number => "a number",
            Self::Text => "text",
        }
    }
}

/// The value of a fact on this machine, in this case.
#[derive(Debug, Clone, PartialEq)]
pub enum FactValue {
    /// True or false.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl FactValue {
    /// What it stands for.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Flag(_) => Kind::Flag,
            Self::Number(_) => Kind::Number,
            Self::Text(_) => Kind::Text,
        }
    }
}

closed_set! {
    /// A fact of the machine or the case, besides the fields of the problem size, which are
    /// `problem.<field>`.
    Fact, "fact" {
        /// Whether torch can use a GPU of NVIDIA.
        CudaAvailable = "cuda.available",
        /// How many there are.
        CudaDeviceCount = "cuda.device_count",
        /// The CUDA release that torch is built for, e.g. 12.8.
        CudaVersion = "cuda.version",
        /// The GPU's name on cuda, the processor's on cpu.
        DeviceName = "device.name",
        /// GiB of memory of the device.
        DeviceMemoryGb = "device.memory_gb",
        /// E.g. 9.0; of a GPU alone.
        DeviceComputeCapability = "device.compute_capability",
        /// GiB of the host's memory.
        MemoryGb = "memory_gb",
        /// GiB of it that are free to take.
        MemoryAvailableGb = "memory_available_gb",
        /// The processor's name.
        CpuName = "cpu.name",
        /// Cores.
        CpuCores = "cpu.cores",
        /// Hardware threads.
        CpuThreads = "cpu.threads",
        /// E.g. `x86_64`.
        CpuArch = "cpu.arch",
        /// E.g. `linux`.
        Os = "os",
        /// The release of torch, e.g. `2.11.0`.
        TorchVersion = "torch.version",
        /// `cpu` or `cuda`: where the case runs.
        Backend = "backend",
        /// In what precision, as a `bench.yaml` spells it.
        Precision = "precision",
        /// Threads inside one operation.
        Threads = "threads",
    }
}

impl Fact {
    /// What it stands for.
    pub const fn kind(self) -> Kind {
        match self {
            Self::CudaAvailable => Kind::Flag,
            Self::CudaDeviceCount
            | Self::CudaVersion
            | Self::DeviceMemoryGb
            | Self::DeviceComputeCapability
            | Self::MemoryGb
            | Self::MemoryAvailableGb
            | Self::CpuCores
            | Self::CpuThreads
            | Self::Threads => Kind::Number,
            Self::DeviceName
            | Self::CpuName
            | Self::CpuArch
            | Self::Os
            | Self::TorchVersion
            | Self::Backend
            | Self::Precision => Kind::Text,
        }
    }

    /// All that it can be, where that is known.
    pub(super) fn words(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Backend => Some([Device::Cpu, Device::Cuda].map(Device::as_str).to_vec()),
            Self::Precision => Some(Dtype::PRECISIONS.iter().map(|it| it.precision()).collect()),
            // The facts are set by `std::env::consts`, which has these words.
            Self::Os => Some(
                ["linux", "macos", "windows", "freebsd", "netbsd", "openbsd", "android", "ios"]
                    .to_vec(),
            ),
            Self::CpuArch => Some(
                ["x86_64", "aarch64", "x86", "arm", "riscv64", "powerpc64", "s390x", "loongarch64"]
                    .to_vec(),
            ),
            _ => None,
        }
    }
}
