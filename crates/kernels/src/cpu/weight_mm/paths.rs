//! The choice of instructions.

use std::marker::PhantomData;
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use half::bf16;
use tch::{Kind, TchError, Tensor};

use super::floats::floats;
use super::format::{Format, I8, U4};
#[cfg(target_arch = "x86_64")]
use super::lanes::BFloat16Pairs;
use super::lanes::Float32;
use super::product::{Product, ROWS};
use super::{Bits, activation, tile};
use crate::cpu::memory::slice;
use crate::cpu::vector::{Kernel, Vector};
use crate::cpu::{Capability, parallel};

/// The capability that is made use of, of one that the CPU has: only 4-bit weights and bfloat16
/// activations have a use for products of bfloat16.
pub fn used(bits: Bits, kind: Kind, capability: Capability) -> Capability {
    match (bits, kind) {
        (Bits::Four, Kind::BFloat16) => capability,
        _ => capability.min(Capability::Avx512),
    }
}

/// The kernel's names in records.
pub fn names(bits: Bits, capability: Capability) -> &'static [&'static str] {
    match (bits, capability) {
        (Bits::Four, Capability::Default | Capability::Neon) => {
            &["criterion_torch::weight_int4_mm_default"]
        }
        (Bits::Four, Capability::Avx2) => &["criterion_torch::weight_int4_mm_avx2"],
        (Bits::Four, Capability::Avx512) => &["criterion_torch::weight_int4_mm_avx512"],
        (Bits::Four, Capability::Avx512Bf16) => &["criterion_torch::weight_int4_mm_avx512_bf16"],
        (Bits::Eight, Capability::Default | Capability::Neon) => {
            &["criterion_torch::weight_int8_mm_default"]
        }
        (Bits::Eight, Capability::Avx2) => &["criterion_torch::weight_int8_mm_avx2"],
        (Bits::Eight, _) => &["criterion_torch::weight_int8_mm_avx512"],
    }
}

/// Runs the product with the activation `x`, contiguous, on torch's number of threads.
///
/// # Safety
/// The CPU has the capability; the sizes are as [`Product`] says; nobody else uses the output.
pub unsafe fn run(
    bits: Bits,
    capability: Capability,
    product: &Product<'_, ()>,
    x: &Tensor,
) -> Result<(), TchError> {
    let capability = used(bits, x.f_kind()?, capability);
    #[cfg(target_arch = "x86_64")]
    if capability == Capability::Avx512Bf16 {
        let product = product.with_activation(slice::<bf16>(x)?);
        return parallel::for_each_part(product.n, ROWS, |rows| {
            // SAFETY: the caller's promise, and the parts share no row.
            unsafe { bf16_columns(&product, rows) };
        });
    }
    let splits = bits == Bits::Four;
    let numbers = match x.f_kind()? {
        Kind::Float if !splits => x.shallow_clone(),
        _ => activation::numbers(floats(x)?, product.m, product.k, splits)?,
    };
    let product = &product.with_activation(slice::<f32>(&numbers)?);
    parallel::for_each_part(product.n, ROWS, |rows| {
        // SAFETY: the caller's promise, and the parts share no row.
        unsafe {
            match bits {
                Bits::Four => {
                    capability.run(Columns { product, rows, format: PhantomData::<U4> });
                }
                Bits::Eight => {
                    capability.run(Columns { product, rows, format: PhantomData::<I8> });
                }
            }
        }
    })
}

/// The columns of the output that belong to some rows of the weight, in float32.
struct Columns<'p, F> {
    product: &'p Product<'p, f32>,
    rows: Range<usize>,
    format: PhantomData<F>,
}

impl<F: Format> Kernel for Columns<'_, F> {
    type Output = ();
    const ROUNDS_TO_BF16: bool = false;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Self { product, rows, .. } = self;
        // SAFETY: the caller's promise.
        unsafe {
            match V::LANES {
                16 => tile::columns::<Float32<V, 2>, F>(product, rows),
                8 => tile::columns::<Float32<V, 4>, F>(product, rows),
                4 => tile::columns::<Float32<V, 8>, F>(product, rows),
                _ => tile::columns::<Float32<V, 32>, F>(product, rows),
            }
        }
    }
}

/// # Safety
/// The contract of [`run`], with AVX-512 BF16.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
unsafe fn bf16_columns(product: &Product<'_, bf16>, rows: Range<usize>) {
    // SAFETY: the caller's promise.
    unsafe { tile::columns::<BFloat16Pairs, U4>(product, rows) }
}
