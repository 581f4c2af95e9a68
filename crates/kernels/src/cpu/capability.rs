//! The instruction set that a kernel runs with.

use std::ffi::OsString;
use std::sync::OnceLock;

use tch::TchError;

/// Names the capability that kernels run with where that is not to be the most that the CPU has.
const VARIABLE: &str = "CRITERION_TORCH_CPU";

/// Instruction sets that kernels are written for, as `torch.backends.cpu.get_cpu_capability` names
/// them; each includes those of its architecture before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Instructions that every CPU of the architecture has.
    Default,
    /// Arm of 64 bits, all of which have NEON.
    Neon,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL.
    Avx512,
    /// AVX-512 F, BW, DQ, VL and BF16: products of bfloat16 pairs, summed in float32.
    Avx512Bf16,
}

impl Capability {
    const ALL: [Self; 5] = [Self::Default, Self::Neon, Self::Avx2, Self::Avx512, Self::Avx512Bf16];

    /// Whether this CPU and its operating system have it.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma") && has!("f16c");
            let avx512 =
                avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            match self {
                Self::Default => true,
                Self::Neon => false,
                Self::Avx2 => avx2,
                Self::Avx512 => avx512,
                Self::Avx512Bf16 => avx512 && has!("avx512bf16"),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Default || cfg!(target_arch = "aarch64") && self == Self::Neon
        }
    }

    /// Demands that this CPU has it.
    ///
    /// # Errors
    /// When it does not.
    pub fn demand(self) -> Result<(), TchError> {
        if self.is_available() {
            return Ok(());
        }
        Err(TchError::Kind(format!("this CPU does not have {self:?}")))
    }

    /// The name in `CRITERION_TORCH_CPU`.
    fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Bf16 => "avx512_bf16",
        }
    }

    /// The name in records of a kernel that runs with it: `criterion_torch::gelu_avx512`, also with
    /// BF16.
    pub fn kernel(self, name: &str) -> String {
        let instructions = self.min(Self::Avx512).name();
        format!("criterion_torch::{name}_{instructions}")
    }

    /// The capabilities that this CPU has, least first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|it| it.is_available())
    }

    /// The one that kernels run with: the most that this CPU has, unless `CRITERION_TORCH_CPU` names
    /// another.
    ///
    /// # Panics
    /// If [`Self::chosen`] is an error.
    pub fn best() -> Self {
        Self::chosen().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`Self::best`], with an error instead of a panic. The variable is read once.
    ///
    /// # Errors
    /// When the variable names no capability, or one that this CPU does not have.
    pub fn chosen() -> Result<Self, String> {
        static CHOSEN: OnceLock<Result<Capability, String>> = OnceLock::new();
        CHOSEN.get_or_init(|| Self::choose(std::env::var_os(VARIABLE))).clone()
    }

    /// The capability by the value of the variable.
    fn choose(named: Option<OsString>) -> Result<Self, String> {
        let mut available = Self::available();
        let Some(named) = named.filter(|it| !it.is_empty()) else {
            return Ok(available.last().unwrap_or(Self::Default));
        };
        available.find(|it| named == it.name()).ok_or_else(|| {
            let names: Vec<_> = Self::available().map(Self::name).collect();
            format!("{VARIABLE} is {named:?}; this CPU has: {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_runs() {
        let names = Capability::ALL.map(|it| it.kernel("gelu"));
        let ends = ["default", "neon", "avx2", "avx512", "avx512"];
        assert_eq!(names, ends.map(|end| format!("criterion_torch::gelu_{end}")));
    }

    #[test]
    fn the_variable_chooses_among_what_the_cpu_has() {
        let choose = |value: &str| Capability::choose(Some(value.into()));
        let most = Capability::available().last();
        assert_eq!(Capability::choose(None).ok(), most);
        assert_eq!(choose("").ok(), most);
        for capability in Capability::ALL {
            let found = choose(capability.name());
            assert_eq!(found.ok(), Some(capability).filter(|it| it.is_available()));
        }
        let foreign = if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" };
        for wrong in ["AVX2", "sse", foreign] {
            let error = choose(wrong).unwrap_err();
            let start = format!("CRITERION_TORCH_CPU is \"{wrong}\"; this CPU has: default");
            assert!(error.starts_with(&start), "{error}");
        }
    }
}
