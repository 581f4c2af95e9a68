//! Whether `_int_mm` is exact on this CPU.
//!
//! On a CPU with AVX-512's VNNI libtorch computes it by oneDNN, elsewhere by its own loops, which are exact. oneDNN adds
//! pairs of products in 16 bits, saturating, when it is told to do without VNNI (`ONEDNN_MAX_CPU_ISA`): the sums of large
//! values are wrong, and whatever is built on them is not the recipe that its name says.

use std::sync::OnceLock;

use tch::{Device, Kind, TchError, Tensor};

/// Whether `_int_mm` gives exact sums on this CPU, found out once, by sums of the most extreme
/// values.
pub fn integer_products_are_exact() -> Result<bool, TchError> {
    static EXACT: OnceLock<bool> = OnceLock::new();
    if let Some(exact) = EXACT.get() {
        return Ok(*exact);
    }
    let exact = probe()?;
    Ok(*EXACT.get_or_init(|| exact))
}

/// The constraint of every recipe that multiplies int8 matrices on the CPU.
pub(super) fn check() -> Result<(), String> {
    match integer_products_are_exact() {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err("`_int_mm` gives saturated sums on this CPU, as oneDNN does without VNNI"
                .to_owned())
        }
        Err(error) => Err(format!("`_int_mm`: {error}")),
    }
}

fn probe() -> Result<bool, TchError> {
    // A vector, a small matrix, a ragged one, and one that is cut into blocks.
    for (rows, k, n) in [(1, 64, 32), (32, 64, 32), (17, 100, 33), (64, 1024, 256)] {
        for (x, weight) in [(127, -128), (127, 127), (-127, -128), (-128, 127), (-128, -128)] {
            let fill =
                |size: [i64; 2], value: i64| Tensor::f_full(size, value, (Kind::Int8, Device::Cpu));
            let sums = fill([rows, k], x)?.f_internal_int_mm(&fill([n, k], weight)?.f_tr()?)?;
            let exact = Tensor::f_full([rows, n], x * weight * k, (Kind::Int, Device::Cpu))?;
            if !sums.f_equal(&exact)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
