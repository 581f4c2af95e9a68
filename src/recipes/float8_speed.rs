//! How fast float8 matrices are multiplied on this CPU.
//!
//! On a CPU with AMX for int8 libtorch 2.11 hands `_scaled_mm` to oneDNN, whose kernel for float8 asks for AMX for float16,
//! too. Sapphire Rapids and Emerald Rapids have the first alone: oneDNN's reference implementation does the
//! work there, one multiplication after the other. On CPUs without AMX libtorch multiplies in float32.

use std::sync::OnceLock;

use tch::{Device, Kind, TchError, Tensor};

use super::LayerContext;
use crate::measurement::stopwatch::Stopwatch;
use crate::threads;

/// The longest call that is worth its time, in seconds, by the time of a small product: a large one takes up to three times
/// longer for each multiplication.
const LONGEST_S: f64 = 1.0;

/// The constraint of every recipe that multiplies float8 matrices: on a CPU a call is not too long.
pub(super) fn check(context: &LayerContext) -> Result<(), String> {
    if context.device != plan::Device::Cpu {
        return Ok(());
    }
    static NS: OnceLock<Result<f64, String>> = OnceLock::new();
    let by_one =
        || threads::by_one(ns_per_multiplication).map_err(|it| format!("`_scaled_mm`: {it}"));
    let ns = NS.get_or_init(by_one);
    within_reason(ns.clone()?, context.linear.rows, context.linear.k, context.linear.n)
}

fn within_reason(ns: f64, rows: u64, k: u64, n: u64) -> Result<(), String> {
    /// Beyond it there is no kernel: a slow one takes less than one.
    const REFERENCE_NS: f64 = 5.0;
    let seconds = ns * rows as f64 * k as f64 * n as f64 / 1e9;
    if ns < REFERENCE_NS || seconds <= LONGEST_S {
        return Ok(());
    }
    Err(format!(
        "this CPU has no kernel for float8: oneDNN's reference implementation of `_scaled_mm` takes {ns:.0} ns for each \
         multiplication by one thread, at least {seconds:.1} s for a call with {rows} rows, k = {k} and n = {n}; calls of up to \
         {LONGEST_S} s are measured"
    ))
}

/// Nanoseconds of each multiplication of a small product.
fn ns_per_multiplication() -> Result<f64, TchError> {
    const SIZES: [i64; 3] = [16, 64, 64];
    /// The first one chooses a kernel.
    const CALLS: usize = 4;
    let [rows, k, n] = SIZES;
    let float8 = |size: [i64; 2]| {
        Tensor::f_ones(size, (Kind::Float, Device::Cpu))?.f_to_kind(Kind::Float8e4m3fn)
    };
    let (left, right) = (float8([rows, k])?, float8([n, k])?.f_tr()?);
    let one = Tensor::f_ones([] as [i64; 0], (Kind::Float, Device::Cpu))?;
    let none = None::<&Tensor>;
    let mut fastest = f64::INFINITY;
    for _ in 0..CALLS {
        let watch = Stopwatch::start();
        drop(left.f_internal_scaled_mm(&right, &one, &one, none, none, Kind::BFloat16, false)?);
        fastest = fastest.min(watch.ns());
    }
    Ok(fastest / SIZES.iter().product::<i64>() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_calls_of_a_reference_implementation_are_refused() {
        assert_eq!(within_reason(0.5, 1 << 13, 1 << 14, 1 << 14), Ok(()), "a kernel, however long");
        assert_eq!(within_reason(32.0, 16, 512, 512), Ok(()));
        let why = within_reason(32.0, 512, 1024, 1024).expect_err("17 s");
        assert!(why.contains("takes 32 ns") && why.contains("at least 17.2 s"), "{why}");
        assert!(ns_per_multiplication().expect("a product") > 0.0);
    }
}
