use half::{bf16, f16};

use super::*;
use crate::cpu::Capability;
use crate::cpu::vector::Kernel;

/// One of the functions, and what it is in float64.
trait Function {
    const NAME: &'static str;
    /// Largest error for float32, in ulp: with fused multiply-add and without.
    const ERROR: [f64; 2];

    unsafe fn evaluate<V: Vector, E: Element>(x: V) -> V;
    fn float64(x: f64) -> f64;
}

macro_rules! function {
    ($name:ident, $function:ident, $error:expr, $float64:expr) => {
        struct $name;
        impl Function for $name {
            const NAME: &'static str = stringify!($function);
            const ERROR: [f64; 2] = $error;

            #[inline(always)]
            unsafe fn evaluate<V: Vector, E: Element>(x: V) -> V {
                // SAFETY: the caller's promise.
                unsafe { $function::<V, E>(x) }
            }

            fn float64(x: f64) -> f64 {
                $float64(x)
            }
        }
    };
}

function!(Exp, exp, [1.2, 1.2], f64::exp);
function!(Gelu, gelu, [5.2, 6.3], |x| x * normal(x));
function!(GeluTanh, gelu_tanh, [4.0, 4.2], |x: f64| {
    let slope = 2.0 * std::f64::consts::FRAC_2_PI.sqrt();
    x * sigmoid(slope * (x + 0.044715 * x * x * x))
});
function!(Silu, silu, [3.1, 3.1], |x| x * sigmoid(x));

fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

/// Φ, by its power series, and in the tail by Laplace's continued fraction.
fn normal(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    let a = x.abs();
    let tail = if a < 2.5 {
        let (mut term, mut sum, mut odd) = (a, a, 1.0);
        while term > sum * 1e-18 {
            odd += 2.0;
            term *= a * a / odd;
            sum += term;
        }
        0.5 - density * sum
    } else {
        let terms = 10 + (900.0 / (a * a)) as u32;
        density / (1..terms).rev().fold(a, |rest, index| a + f64::from(index) / rest)
    };
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// An element that a test can make, and read.
trait Checked: Element {
    const ZERO: Self;
    /// The least normal number's exponent.
    const LEAST: i32;
    fn value(self) -> f64;
    fn rounded(value: f64) -> Self;
}

impl Checked for f32 {
    const ZERO: Self = 0.0;
    const LEAST: i32 = -126;
    fn value(self) -> f64 {
        self.into()
    }
    fn rounded(value: f64) -> Self {
        value as Self
    }
}

impl Checked for bf16 {
    const ZERO: Self = Self::ZERO;
    const LEAST: i32 = -126;
    fn value(self) -> f64 {
        self.into()
    }
    fn rounded(value: f64) -> Self {
        Self::from_f64(value)
    }
}

impl Checked for f16 {
    const ZERO: Self = Self::ZERO;
    const LEAST: i32 = -14;
    fn value(self) -> f64 {
        self.into()
    }
    fn rounded(value: f64) -> Self {
        Self::from_f64(value)
    }
}

/// Calls a function with every element.
struct Map<'a, E, F> {
    from: &'a [E],
    to: &'a mut [E],
    function: std::marker::PhantomData<F>,
}

impl<E: Element, F: Function> Kernel for Map<'_, E, F> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        for (from, to) in self.from.chunks(V::LANES).zip(self.to.chunks_mut(V::LANES)) {
            // SAFETY: as many elements as the chunks have.
            unsafe {
                let x = E::load_first::<V>(from.as_ptr(), from.len());
                E::store_first(F::evaluate::<V, E>(x), to.as_mut_ptr(), to.len());
            }
        }
    }
}

fn map<F: Function, E: Checked>(capability: Capability, from: &[E]) -> Vec<E> {
    let mut to = vec![E::ZERO; from.len()];
    // SAFETY: the tests ask for what is available.
    unsafe {
        capability.run(Map::<E, F> { from, to: &mut to, function: std::marker::PhantomData })
    };
    to
}

/// By how many units in the last place `found` is wrong.
fn ulps<E: Checked>(found: E, exact: f64) -> f64 {
    let (found, nearest) = (found.value(), E::rounded(exact).value());
    if found == nearest || found.is_nan() && exact.is_nan() {
        // Not an error of half a unit: none that could be avoided.
        return 0.0;
    }
    if found.is_nan() || exact.is_nan() {
        return f64::INFINITY;
    }
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).max(E::LEAST);
    let unit = exponent + 1 - E::PRECISION as i32;
    (found - exact).abs() / f64::from_bits(((unit + 1023) as u64) << 52)
}

/// The largest error for these elements with each capability, and where.
fn worst<F: Function, E: Checked>(from: &[E]) -> Vec<(f64, f64)> {
    let exact: Vec<f64> = from.iter().map(|x| F::float64(x.value())).collect();
    let worst = |capability| {
        let results = from.iter().zip(map::<F, E>(capability, from)).zip(&exact);
        results.fold((0.0, 0.0), |worst: (f64, f64), ((x, found), exact)| {
            let error = ulps(found, *exact);
            if error > worst.0 { (error, x.value()) } else { worst }
        })
    };
    Capability::available().map(worst).collect()
}

/// Demands errors of at most `bounds` ulp: with fused multiply-add, and without.
fn check<F: Function, E: Checked>(from: &[E], bounds: [f64; 2]) {
    for (capability, (error, at)) in Capability::available().zip(worst::<F, E>(from)) {
        let bound = bounds[usize::from(capability == Capability::Default)];
        assert!(error <= bound, "{} {capability:?}: {error} ulp at {at:e}", F::NAME);
    }
}

fn finite<E: Checked>(elements: impl IntoIterator<Item = E>) -> Vec<E> {
    elements.into_iter().filter(|x| x.value().is_finite()).collect()
}

fn check_float32<F: Function>(step: usize) {
    let every: Vec<f32> = finite((0..=u32::MAX).step_by(step).map(f32::from_bits));
    assert!(every.len() > 250_000);
    check::<F, f32>(&every, F::ERROR);
    // The steps skip powers of two and their neighbours.
    let near = (0..=255_u32).flat_map(|exponent| {
        let bits = exponent << 23;
        [bits, bits.wrapping_sub(1), bits + 1, bits | 1 << 31, bits | 1 << 31 | 1]
    });
    check::<F, f32>(&finite(near.map(f32::from_bits)), F::ERROR);
}

fn check_halves<F: Function>() {
    check::<F, bf16>(&finite((0..=u16::MAX).map(bf16::from_bits)), [1.0; 2]);
    check::<F, f16>(&finite((0..=u16::MAX).map(f16::from_bits)), [1.0; 2]);
}

fn check_every_float32<F: Function>() {
    const CHUNK: usize = 1 << 20;
    let mut all = vec![(0.0, 0.0); Capability::available().count()];
    for start in (0..=u32::MAX).step_by(CHUNK) {
        let patterns = start..=start + (CHUNK as u32 - 1);
        let found = worst::<F, f32>(&finite(patterns.map(f32::from_bits)));
        for (all, found) in all.iter_mut().zip(found) {
            *all = if found.0 > all.0 { found } else { *all };
        }
    }
    for (capability, (error, at)) in Capability::available().zip(&all) {
        println!("{} {capability:?}: {error} ulp at {at:e}", F::NAME);
    }
    for (capability, (error, at)) in Capability::available().zip(all) {
        let bound = F::ERROR[usize::from(capability == Capability::Default)];
        assert!(error <= bound, "{} {capability:?}: {error} ulp at {at:e}", F::NAME);
    }
}

#[test]
fn exp_is_float64s() {
    check_float32::<Exp>(16_381);
    check_halves::<Exp>();
}

#[test]
fn gelu_is_float64s() {
    check_float32::<Gelu>(16_381);
    check_halves::<Gelu>();
}

#[test]
fn gelu_tanh_is_float64s() {
    check_float32::<GeluTanh>(16_381);
    check_halves::<GeluTanh>();
}

#[test]
fn silu_is_float64s() {
    check_float32::<Silu>(16_381);
    check_halves::<Silu>();
}

#[test]
#[ignore = "nightly: every float32, minutes if built with optimization"]
fn nightly_exp_is_float64s() {
    check_every_float32::<Exp>();
}

#[test]
#[ignore = "nightly: every float32, minutes if built with optimization"]
fn nightly_gelu_is_float64s() {
    check_every_float32::<Gelu>();
}

#[test]
#[ignore = "nightly: every float32, minutes if built with optimization"]
fn nightly_gelu_tanh_is_float64s() {
    check_every_float32::<GeluTanh>();
}

#[test]
#[ignore = "nightly: every float32, minutes if built with optimization"]
fn nightly_silu_is_float64s() {
    check_every_float32::<Silu>();
}

#[test]
fn specials() {
    fn found<F: Function, E: Checked>(capability: Capability) -> Vec<f64> {
        let from = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0].map(E::rounded);
        map::<F, E>(capability, &from).into_iter().map(E::value).collect()
    }
    fn check<F: Function>(expected: [f64; 5]) {
        for capability in Capability::available() {
            let all = [
                found::<F, f32>(capability),
                found::<F, bf16>(capability),
                found::<F, f16>(capability),
            ];
            for found in all {
                for (found, expected) in found.into_iter().zip(expected) {
                    let same = found == expected && found.signum() == expected.signum();
                    let rounded = expected == 1.0 && (found - 1.0).abs() <= 2_f64.powi(-10);
                    let fits = same || rounded || found.is_nan() && expected.is_nan();
                    assert!(fits, "{} {capability:?}: {found}, not {expected}", F::NAME);
                }
            }
        }
    }
    const NAN: f64 = f64::NAN;
    check::<Exp>([f64::INFINITY, 0.0, NAN, 1.0, 1.0]);
    check::<Gelu>([f64::INFINITY, NAN, NAN, 0.0, -0.0]);
    check::<GeluTanh>([f64::INFINITY, NAN, NAN, 0.0, -0.0]);
    check::<Silu>([f64::INFINITY, NAN, NAN, 0.0, -0.0]);
}

#[test]
fn the_reference_is_what_tables_say() {
    // M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, tables 26.1 and 26.2.
    for (x, expected) in [
        (0.0, 0.5),
        (1.0, 0.841_344_746_068_543),
        (2.4, 0.991_802_464_075_404),
        (2.6, 0.995_338_811_976_281),
        (-2.0, 0.022_750_131_948_179_2),
        (-5.0, 2.866_515_718_791_94e-7),
        (-10.0, 7.619_853_024_160_5e-24),
    ] {
        assert!((normal(x) / expected - 1.0).abs() < 1e-13, "{x}: {:e}", normal(x));
    }
    // Both ways, where they meet.
    let (series, fraction) = (normal(-2.499_999_999_999), normal(-2.5));
    assert!((series / fraction - 1.0 - 2.82e-12).abs() < 1e-13, "{}", series / fraction - 1.0);
    assert_eq!(ulps(1.0_f32 + 3.0 * f32::EPSILON, 1.0), 3.0);
    assert_eq!(ulps(bf16::from_bits(3), 2_f64.powi(-133)), 2.0);
    assert_eq!(ulps(f32::INFINITY, 1e39), 0.0);
    assert_eq!(ulps(f32::INFINITY, 1e38), f64::INFINITY);
    assert_eq!(ulps(f32::NAN, 1.0), f64::INFINITY);
}
