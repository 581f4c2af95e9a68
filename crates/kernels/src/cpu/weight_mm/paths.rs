//! Which instructions run: one function for each format and capability.

use std::ops::Range;

use half::bf16;
use tch::{Kind, TchError, Tensor};

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::{Avx512, Avx512Bf16};
use super::default::Default;
use super::format::{I8, U4};
use super::lanes::Lanes;
use super::memory::floats;
use super::product::{self, Product, ROWS};
use super::{Bits, activation};
use crate::cpu::memory::slice;
use crate::cpu::{Capability, parallel};

/// The capability that is made use of, of one that the CPU has: only 4-bit weights and bfloat16
/// activations have a use for products of bfloat16.
pub fn used(bits: Bits, kind: Kind, capability: Capability) -> Capability {
    match (bits, kind) {
        (Bits::Four, Kind::BFloat16) => capability,
        _ => capability.min(Capability::Avx512),
    }
}

/// What a record calls the kernel.
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
/// # Errors
/// When memory runs out.
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
        // SAFETY: the caller's promise.
        return unsafe { on_all_threads(&product.with(slice::<bf16>(x)?), u4_avx512_bf16) };
    }
    let splits = bits == Bits::Four;
    let numbers = match x.f_kind()? {
        Kind::Float if !splits => x.shallow_clone(),
        _ => activation::numbers(floats(x)?, product.m, product.k, splits)?,
    };
    let product = product.with(slice::<f32>(&numbers)?);
    let columns: Columns<f32> = match (bits, capability) {
        #[cfg(target_arch = "x86_64")]
        (Bits::Four, Capability::Avx2) => u4_avx2,
        #[cfg(target_arch = "x86_64")]
        (Bits::Eight, Capability::Avx2) => i8_avx2,
        #[cfg(target_arch = "x86_64")]
        (Bits::Four, Capability::Avx512) => u4_avx512,
        #[cfg(target_arch = "x86_64")]
        (Bits::Eight, Capability::Avx512) => i8_avx512,
        (Bits::Four, _) => u4_default,
        (Bits::Eight, _) => i8_default,
    };
    // SAFETY: the caller's promise.
    unsafe { on_all_threads(&product, columns) }
}

/// Writes the columns of the output that belong to some rows of the weight.
type Columns<X> = unsafe fn(&Product<'_, X>, Range<usize>);

/// # Safety
/// That of [`run`], for what `columns` needs.
unsafe fn on_all_threads<X: Sync>(
    product: &Product<'_, X>,
    columns: Columns<X>,
) -> Result<(), TchError> {
    parallel::for_each_part(product.n, ROWS, |rows| {
        // SAFETY: the caller's promise, and the parts share no row.
        unsafe { columns(product, rows) };
    })
}

unsafe fn u4_default(product: &Product<'_, f32>, rows: Range<usize>) {
    // SAFETY: every CPU has it; the rest is the caller's promise.
    unsafe { product::columns::<Default, U4>(product, rows) }
}

unsafe fn i8_default(product: &Product<'_, f32>, rows: Range<usize>) {
    // SAFETY: as above.
    unsafe { product::columns::<Default, I8>(product, rows) }
}

/// A function with instructions enabled, into which the product is inlined.
#[cfg(target_arch = "x86_64")]
macro_rules! columns {
    ($name:ident, $lanes:ty, $format:ty, $features:literal) => {
        #[target_feature(enable = $features)]
        unsafe fn $name(product: &Product<'_, <$lanes as Lanes>::X>, rows: Range<usize>) {
            // SAFETY: the caller's promise.
            unsafe { product::columns::<$lanes, $format>(product, rows) }
        }
    };
}

#[cfg(target_arch = "x86_64")]
columns!(u4_avx2, Avx2, U4, "avx2,fma,f16c");
#[cfg(target_arch = "x86_64")]
columns!(i8_avx2, Avx2, I8, "avx2,fma,f16c");
#[cfg(target_arch = "x86_64")]
columns!(u4_avx512, Avx512, U4, "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl");
#[cfg(target_arch = "x86_64")]
columns!(i8_avx512, Avx512, I8, "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl");
#[cfg(target_arch = "x86_64")]
columns!(
    u4_avx512_bf16,
    Avx512Bf16,
    U4,
    "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"
);
