//! The instruction set that a kernel runs with.

use tch::TchError;

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
    /// The same with AVX-512 BF16: products of bfloat16 pairs, summed in float32.
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
    /// Where it does not.
    pub fn demand(self) -> Result<(), TchError> {
        if self.is_available() {
            return Ok(());
        }
        Err(TchError::Kind(format!("this CPU does not have {self:?}")))
    }

    /// The name in records of a kernel that runs with it: `criterion_torch::gelu_avx512`, also with
    /// BF16.
    pub fn kernel(self, name: &str) -> String {
        let instructions = match self {
            Self::Default => "default",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 | Self::Avx512Bf16 => "avx512",
        };
        format!("criterion_torch::{name}_{instructions}")
    }

    /// The capabilities that this CPU has, least first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|it| it.is_available())
    }

    /// The most that this CPU has.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::Default)
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
}
