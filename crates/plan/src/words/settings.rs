//! Words of the settings: mode, device, compilation, allocator, cache state, float8 scaling.

use super::closed::{UnknownWord, closed_set};

closed_set! {
    /// The kind of step (`benchmark_mode`); the bench target of this mode, or of all, runs the config.
    Mode, "benchmark mode" {
        /// A forward pass without gradients.
        Inference = "inference",
        /// Forward and backward.
        Training = "training",
        /// A pattern of operations, fused or not.
        Fusion = "fusion",
        /// An operator by one of its implementations.
        Operators = "operators",
        /// A limit of the machine.
        Calibration = "calibration",
        /// A kernel of the author's own.
        Kernels = "kernels",
    }
}

closed_set! {
    /// The device that a case runs on. A device that this machine lacks is a skip at run time, never
    /// a move.
    Device, "device" {
        /// The host processor.
        Cpu = "cpu",
        /// An NVIDIA GPU.
        Cuda = "cuda",
        /// An AMD GPU: the device that a libtorch with HIP calls `cuda`. Of kernels only.
        Rocm = "rocm",
        /// An Intel GPU.
        Xpu = "xpu",
        /// An Apple GPU.
        Mps = "mps",
    }
}

impl Device {
    /// Reads a device of a mode other than kernels.
    ///
    /// # Errors
    /// When it is none, or of kernels only.
    pub fn of_other_modes(text: &str) -> Result<Self, UnknownWord> {
        let devices = Self::ALL.iter().copied().filter(|device| *device != Self::Rocm);
        let named = devices.clone().find(|device| device.as_str() == text);
        named.ok_or_else(|| {
            let unknown = UnknownWord::new("device", text, devices.map(Self::as_str));
            let is_kernels = text == Self::Rocm.as_str();
            let remedy = "only kernels run on rocm; use cpu or cuda".to_owned();
            UnknownWord { remedy: if is_kernels { remedy } else { unknown.remedy }, ..unknown }
        })
    }
}

#[cfg(feature = "estimate")]
impl From<Device> for statistics::Processor {
    fn from(device: Device) -> Self {
        match device {
            Device::Cpu => Self::Cpu,
            Device::Cuda | Device::Rocm | Device::Xpu | Device::Mps => Self::Gpu,
        }
    }
}

closed_set! {
    /// Whether the host allocator keeps freed memory mapped between iterations.
    Allocator, "allocator" {
        /// Freed blocks stay mapped: steady state, without page faults.
        Retained = "retained",
        /// The C library as it comes: large outputs are mapped and faulted in afresh.
        System = "system",
    }
}

closed_set! {
    /// The state of the last-level cache when a step starts.
    CacheMode, "cache mode" {
        /// Left as the previous step left it.
        Hot = "hot",
        /// Flushed before every step.
        Cold = "cold",
    }
}

closed_set! {
    /// Whether another process judges a user's kernel.
    Judge, "judge" {
        /// On inputs that it has not seen, by a clock that it cannot reach.
        On = "on",
        /// Its numbers are its own process's word.
        Off = "off",
    }
}

impl Judge {
    /// Whether a kernel is judged.
    pub fn is_on(&self) -> bool {
        *self == Self::On
    }
}

closed_set! {
    /// A part of a training step that is measured by itself. The groups of a model differ in it.
    Pass, "part of a training step" {
        /// The forward pass, which keeps what the backward pass needs.
        Forward = "forward",
        /// The backward pass: gradients of the input and of every weight.
        Backward = "backward",
        /// Both, one after the other.
        ForwardBackward = "forward_backward",
        /// Both, then an update of the weights by stochastic gradient descent.
        StepSgd = "step_sgd",
        /// Both, then an update of the weights by AdamW.
        StepAdamw = "step_adamw",
        /// The casts alone. The baseline, which has none, runs `forward_backward`: the time that casts have to
        /// earn back.
        Casts = "casts",
        /// The products of linear layers alone, on operands that were cast before.
        Products = "products",
    }
}

impl Pass {
    /// Whether torch's autograd can run it.
    pub const fn has_autograd(self) -> bool {
        matches!(self, Self::Forward | Self::Backward | Self::ForwardBackward)
    }

    /// Whether it updates the weights.
    pub const fn is_step(self) -> bool {
        matches!(self, Self::StepSgd | Self::StepAdamw)
    }

    /// How many times the products of a forward pass it has: there is one of each linear layer, and there are two
    /// in its backward pass.
    pub(crate) const fn products(self) -> u64 {
        match self {
            Self::Forward => 1,
            Self::Backward => 2,
            Self::ForwardBackward | Self::StepSgd | Self::StepAdamw | Self::Products => 3,
            Self::Casts => 0,
        }
    }
}

closed_set! {
    /// The load under which a GPU is measured: its clocks depend on what it has done before.
    Regime, "regime" {
        /// Short work on a device that has rested: its clock has not come down.
        Burst = "burst",
        /// Work for seconds: the clock is what the device keeps up at its power limit.
        Sustained = "sustained",
    }
}

closed_set! {
    /// How a tensor is scaled for float8 training.
    ScalingType, "scaling type" {
        /// The scale is computed at every step.
        Dynamic = "dynamic",
        /// The tensor stays in high precision.
        Disabled = "disabled",
    }
}

closed_set! {
    /// How many scales a tensor has in float8 training.
    ScalingGranularity, "scaling granularity" {
        /// One scale per tensor.
        Tensorwise = "tensorwise",
        /// One scale per row.
        Rowwise = "rowwise",
        /// A synonym of `rowwise` upstream.
        Axiswise = "axiswise",
        /// One scale per column (documented upstream, where it raises).
        Columnwise = "columnwise",
    }
}

impl ScalingGranularity {
    /// Whether there is a scale for each row of an operand.
    pub const fn is_axiswise(self) -> bool {
        matches!(self, Self::Rowwise | Self::Axiswise)
    }
}

closed_set! {
    /// A mode of `torch.compile`. "Not compiled" is `None`, not a mode.
    CompileMode, "torch_compile_mode" {
        /// Inductor's defaults.
        Default = "default",
        /// CUDA graphs, to take launch overhead out.
        ReduceOverhead = "reduce-overhead",
        /// Kernel autotuning, with CUDA graphs.
        MaxAutotune = "max-autotune",
        /// Kernel autotuning, without CUDA graphs.
        MaxAutotuneNoCudagraphs = "max-autotune-no-cudagraphs",
    }
}

impl CompileMode {
    /// The suffix of a variant in this mode: `compile` for the default, else the mode itself.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Default => "compile",
            other => other.as_str(),
        }
    }

    /// This mode without its CUDA graph; `None` if the mode has none.
    pub const fn without_cuda_graph(self) -> Option<Self> {
        match self {
            Self::ReduceOverhead => Some(Self::Default),
            Self::MaxAutotune => Some(Self::MaxAutotuneNoCudagraphs),
            Self::Default | Self::MaxAutotuneNoCudagraphs => None,
        }
    }
}
