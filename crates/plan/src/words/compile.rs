//! Modes of `torch.compile`.

use super::closed::closed_set;

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
    /// What the mode appends to a variant: `compile` for the default, else the mode itself.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Default => "compile",
            other => other.as_str(),
        }
    }
}
