//! A kernel with the instructions of a capability.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256;

use super::Vector;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
use crate::cpu::Capability;

/// A computation in a [`Vector`], with all that it works on.
pub trait Kernel {
    type Output;

    /// Whether it may round to bfloat16, for which AVX-512 BF16 has an instruction. Otherwise AVX-512 with and
    /// without share one function: every function takes half a second to compile.
    const ROUNDS_TO_BF16: bool = true;

    /// Runs it. Has to be inlined (`#[inline(always)]`, as all that it calls with a vector), into a
    /// function that has the instructions.
    ///
    /// # Safety
    /// The kernel's own contract.
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
            Self::Avx512Bf16 if K::ROUNDS_TO_BF16 => unsafe { avx512_bf16(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the caller's promise; AVX-512 BF16 includes the rest of AVX-512.
            Self::Avx512 | Self::Avx512Bf16 => unsafe { avx512(kernel) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: the caller's promise.
            Self::Neon => unsafe { neon(kernel) },
            // SAFETY: every CPU has it; the rest is the caller's promise.
            _ => unsafe { kernel.run::<f32>() },
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
    unsafe { kernel.run::<Avx512<false>>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
unsafe fn avx512_bf16<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<Avx512<true>>() }
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn neon<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<float32x4_t>() }
}
