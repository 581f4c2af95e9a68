//! A kernel with the instructions of a capability.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m512};

use super::Vector;
#[cfg(target_arch = "x86_64")]
use super::avx512_bf16::Avx512Bf16;
use crate::cpu::Capability;

/// What is computed in a [`Vector`], with all that it works on.
pub trait Kernel {
    /// What is known when it has run.
    type Output;

    /// Runs it. Has to be inlined (`#[inline(always)]`, as all that it calls with a vector), into a
    /// function that has the instructions.
    ///
    /// # Safety
    /// The CPU has the instructions; and what the kernel itself asks for.
    unsafe fn run<V: Vector>(self) -> Self::Output;
}

impl Capability {
    /// Runs a kernel with the instructions of this capability.
    ///
    /// # Safety
    /// The CPU has the capability; and what the kernel itself asks for.
    pub unsafe fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's promise.
            Self::Avx2 => unsafe { avx2(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's promise.
            Self::Avx512 => unsafe { avx512(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's promise.
            Self::Avx512Bf16 => unsafe { avx512_bf16(kernel) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: the caller's promise.
            Self::Neon => unsafe { neon(kernel) },
            // SAFETY: every CPU has it; the rest is the caller's promise.
            _ => unsafe { kernel.run::<[f32; 4]>() },
        }
    }
}

/// Runs a kernel that is seldom needed, out of line: what it needs of registers must not be taken
/// from those of the loop that it is called in.
///
/// # Safety
/// The CPU has the instructions of `V`; and what the kernel itself asks for.
#[cold]
#[inline(never)]
pub unsafe fn run_out_of_line<V: Vector, K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { V::CAPABILITY.run(kernel) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<__m256>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<__m512>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
unsafe fn avx512_bf16<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<Avx512Bf16>() }
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn neon<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<float32x4_t>() }
}

/// What records call a kernel, by the instructions that run; see [`names!`](names).
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// By plain Rust.
    pub default: &'static [&'static str],
    /// By NEON.
    pub neon: &'static [&'static str],
    /// By AVX2.
    pub avx2: &'static [&'static str],
    /// By AVX-512, and its BF16 where the CPU has it.
    pub avx512: &'static [&'static str],
}

impl Names {
    /// What [`Capability::run`] runs.
    pub fn of(self, capability: Capability) -> &'static [&'static str] {
        match capability {
            Capability::Default => self.default,
            Capability::Neon => self.neon,
            Capability::Avx2 => self.avx2,
            Capability::Avx512 | Capability::Avx512Bf16 => self.avx512,
        }
    }
}

/// The [`Names`] of one kernel, an operator: `criterion_torch::gelu_avx512`, and so on.
macro_rules! names {
    ($operator:literal) => {
        $crate::cpu::vector::Names {
            default: &[concat!("criterion_torch::", $operator, "_default")],
            neon: &[concat!("criterion_torch::", $operator, "_neon")],
            avx2: &[concat!("criterion_torch::", $operator, "_avx2")],
            avx512: &[concat!("criterion_torch::", $operator, "_avx512")],
        }
    };
}
pub(crate) use names;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_runs() {
        const NAMES: Names = names!("gelu");
        for (capability, name) in [
            (Capability::Default, "criterion_torch::gelu_default"),
            (Capability::Neon, "criterion_torch::gelu_neon"),
            (Capability::Avx2, "criterion_torch::gelu_avx2"),
            (Capability::Avx512, "criterion_torch::gelu_avx512"),
            (Capability::Avx512Bf16, "criterion_torch::gelu_avx512"),
        ] {
            assert_eq!(NAMES.of(capability), [name]);
        }
    }
}
