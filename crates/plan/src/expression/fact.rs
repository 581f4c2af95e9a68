//! The facts that an expression can ask for.

use crate::words::closed::closed_set;
use crate::words::{Device, Dtype};

/// The type of an expression or a fact.
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
    /// Its type.
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
    Fact, "fact", Kind {
        /// Whether torch can use a GPU of NVIDIA.
        CudaAvailable = "cuda.available" => Kind::Flag,
        /// How many there are.
        CudaDeviceCount = "cuda.device_count" => Kind::Number,
        /// The CUDA release that torch is built for, e.g. 12.8.
        CudaVersion = "cuda.version" => Kind::Number,
        /// The GPU's name on cuda, the processor's on cpu.
        DeviceName = "device.name" => Kind::Text,
        /// GiB of memory of the device.
        DeviceMemoryGb = "device.memory_gb" => Kind::Number,
        /// E.g. 9.0; of a GPU alone.
        DeviceComputeCapability = "device.compute_capability" => Kind::Number,
        /// GiB of the host's memory.
        MemoryGb = "memory_gb" => Kind::Number,
        /// GiB of it that are free to take.
        MemoryAvailableGb = "memory_available_gb" => Kind::Number,
        /// The processor's name.
        CpuName = "cpu.name" => Kind::Text,
        /// Cores.
        CpuCores = "cpu.cores" => Kind::Number,
        /// Hardware threads.
        CpuThreads = "cpu.threads" => Kind::Number,
        /// E.g. `x86_64`.
        CpuArch = "cpu.arch" => Kind::Text,
        /// E.g. `linux`.
        Os = "os" => Kind::Text,
        /// The release of torch, e.g. `2.11.0`.
        TorchVersion = "torch.version" => Kind::Text,
        /// `cpu`, `cuda` or `rocm`: where the case runs.
        Backend = "backend" => Kind::Text,
        /// In what precision, as a `bench.yaml` spells it.
        Precision = "precision" => Kind::Text,
        /// Threads inside one operation.
        Threads = "threads" => Kind::Number,
    }
}

impl Fact {
    /// Its type.
    pub const fn kind(self) -> Kind {
        *self.facts()
    }

    pub(super) fn words(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Backend => {
                Some([Device::Cpu, Device::Cuda, Device::Rocm].map(Device::as_str).to_vec())
            }
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
