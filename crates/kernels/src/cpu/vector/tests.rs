use half::{bf16, f16};

use super::*;
use crate::cpu::Capability;

/// Bit patterns of every exponent and sign: specials, subnormal numbers, and near what rounds to
/// the other side in 16 bits.
fn patterns() -> Vec<f32> {
    let near = [0, 1, 2, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0x17fff];
    let more = [0x18000, 0x18001, 0x2aaaaa, 0x400000, 0x555555, 0x7fefff, 0x7fffff];
    let fractions = near.into_iter().chain(more);
    let signs = fractions.flat_map(|fraction| [fraction, fraction | 1 << 31]);
    signs.flat_map(|it| (0..256).map(move |exponent| f32::from_bits(exponent << 23 | it))).collect()
}

/// Applies a function to every value, some at a time.
struct Map<'a, F> {
    function: F,
    values: &'a [f32],
}

trait Function: Copy {
    unsafe fn evaluate<V: Vector>(self, x: V) -> V;
}

impl<F: Function> Kernel for Map<'_, F> {
    type Output = Vec<f32>;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Vec<f32> {
        let mut results = Vec::with_capacity(self.values.len());
        for values in self.values.chunks(V::LANES) {
            let mut lanes = [7.0; 16];
            // SAFETY: as many values as the chunk has, of at most 16.
            unsafe {
                let x = V::load_first(values.as_ptr(), values.len());
                self.function.evaluate(x).store(lanes.as_mut_ptr());
            }
            results.extend(&lanes[..values.len()]);
        }
        results
    }
}

fn map<F: Function>(capability: Capability, function: F, values: &[f32]) -> Vec<f32> {
    // SAFETY: the tests ask for what is available.
    unsafe { capability.run(Map { function, values }) }
}

/// A `Function` of that expression.
macro_rules! function {
    ($name:ident, |$x:ident: $vector:ident| $body:expr) => {
        #[derive(Clone, Copy)]
        struct $name;
        impl Function for $name {
            #[inline(always)]
            unsafe fn evaluate<$vector: Vector>(self, $x: $vector) -> $vector {
                // SAFETY: the caller has the instructions.
                unsafe { $body }
            }
        }
    };
}

/// Equal bits, or both NaN.
#[track_caller]
fn same(found: f32, expected: f32, what: &str) {
    let equal = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
    assert!(equal, "{what}: {found:e}, not {expected:e}");
}

fn check<F: Function>(name: &str, function: F, expected: impl Fn(f32) -> f32, values: &[f32]) {
    for capability in Capability::available() {
        for (x, found) in values.iter().zip(map(capability, function, values)) {
            same(found, expected(*x), &format!("{capability:?} {name}({x:e} {:#x})", x.to_bits()));
        }
    }
}

#[test]
fn arithmetic_is_that_of_scalars() {
    function!(Add, |x: V| x.add(V::splat(0.3)));
    function!(Sub, |x: V| V::splat(0.3).sub(x));
    function!(Mul, |x: V| x.mul(V::splat(1.7)));
    function!(Div, |x: V| V::splat(1.7).div(x));
    function!(Sqrt, |x: V| x.sqrt());
    function!(Min, |x: V| V::splat(0.5).min(x));
    function!(MinOther, |x: V| x.min(V::splat(0.5)));
    function!(Max, |x: V| V::splat(0.5).max(x));
    function!(MaxOther, |x: V| x.max(V::splat(0.5)));
    function!(Abs, |x: V| x.abs());
    function!(Xor, |x: V| x.xor(V::splat(f32::from_bits(0x8123_4567))));
    function!(Negative, |x: V| x.negative());
    let all = patterns();
    check("add", Add, |x| x + 0.3, &all);
    check("sub", Sub, |x| 0.3 - x, &all);
    check("mul", Mul, |x| x * 1.7, &all);
    check("div", Div, |x| 1.7 / x, &all);
    check("sqrt", Sqrt, f32::sqrt, &all);
    check("min", Min, |x| if 0.5 < x { 0.5 } else { x }, &all);
    check("min", MinOther, |x| if x < 0.5 { x } else { 0.5 }, &all);
    check("max", Max, |x| if 0.5 > x { 0.5 } else { x }, &all);
    check("max", MaxOther, |x| if x > 0.5 { x } else { 0.5 }, &all);
    check("abs", Abs, f32::abs, &all);
    check("xor", Xor, |x| f32::from_bits(x.to_bits() ^ 0x8123_4567), &all);
    check("negative", Negative, |x| -x.abs(), &all);
}

#[test]
fn a_sum_of_a_product_is_rounded_once_or_twice() {
    function!(MulAdd, |x: V| x.mul_add(V::splat(1.7), V::splat(0.3)));
    for capability in Capability::available() {
        let all = patterns();
        for (x, found) in all.iter().zip(map(capability, MulAdd, &all)) {
            let once = capability != Capability::Default;
            let expected = if once { x.mul_add(1.7, 0.3) } else { x * 1.7 + 0.3 };
            same(found, expected, &format!("{capability:?} of {x:e}"));
        }
    }
}

#[test]
fn an_exact_product_is_one() {
    function!(High, |x: V| x.mul_exact(x).0);
    function!(Low, |x: V| x.mul_exact(x).1);
    let all = patterns().into_iter().filter(|x| (1e-15..1e15).contains(&x.abs()));
    let all: Vec<f32> = all.collect();
    for capability in Capability::available() {
        let (high, low) = (map(capability, High, &all), map(capability, Low, &all));
        for (x, (high, low)) in all.iter().zip(high.into_iter().zip(low)) {
            same(high, x * x, &format!("{capability:?} of {x:e}"));
            let sum = f64::from(high) + f64::from(low);
            assert_eq!(sum, f64::from(*x) * f64::from(*x), "{capability:?} of {x:e}");
        }
    }
}

#[test]
fn a_reciprocal_has_13_bits() {
    function!(Reciprocal, |x: V| x.reciprocal());
    let all: Vec<f32> = (0..100_000).map(|index| 1e-30 * 1.0014_f32.powi(index)).collect();
    let all: Vec<f32> = all.into_iter().filter(|x| *x < 1e30).flat_map(|x| [x, -x]).collect();
    for capability in Capability::available() {
        for (x, found) in all.iter().zip(map(capability, Reciprocal, &all)) {
            let error = (f64::from(found) * f64::from(*x) - 1.0).abs();
            assert!(error < 2_f64.powi(-13), "{capability:?} of {x:e}: {error:e}");
        }
    }
}

#[test]
fn integers_are_the_nearest_even_ones() {
    function!(Round, |x: V| x.round());
    let whole = (-4000..4000).map(|eighth| eighth as f32 / 8.0);
    let all: Vec<f32> = whole.chain([4_194_303.5, -4_194_303.5, f32::NAN, 1e-40]).collect();
    for capability in Capability::available() {
        for (x, found) in all.iter().zip(map(capability, Round, &all)) {
            // Whether a zero is negative, nobody asks.
            let (found, expected) = (found + 0.0, x.round_ties_even() + 0.0);
            same(found, expected, &format!("{capability:?} of {x:e}"));
        }
    }
}

#[test]
fn a_scaled_number_is_rounded_once() {
    #[derive(Clone, Copy)]
    struct Scale(f32);
    impl Function for Scale {
        #[inline(always)]
        unsafe fn evaluate<V: Vector>(self, x: V) -> V {
            // SAFETY: the caller has the instructions.
            unsafe { x.scale(V::splat(self.0)) }
        }
    }
    let fractions = [1.0, 1.0 + f32::EPSILON, 1.3, 1.5, 1.75, 2.0 - f32::EPSILON, 2_f32.powi(-20)];
    let numbers = fractions.into_iter().flat_map(|x| [x, -x]);
    let numbers: Vec<f32> = numbers.chain([0.0, -0.0, f32::NAN, f32::INFINITY]).collect();
    for exponent in -252..=254 {
        let expected = |x: f32| (f64::from(x) * 2_f64.powi(exponent)) as f32;
        check(&format!("2^{exponent}"), Scale(exponent as f32), expected, &numbers);
    }
}

#[test]
fn masks_choose_lanes() {
    function!(Less, |x: V| V::select(x.less(V::splat(0.5)), V::splat(1.0), V::splat(2.0)));
    function!(IsNan, |x: V| V::select(x.is_nan(), V::splat(1.0), x));
    let all = patterns();
    check("less", Less, |x| if x < 0.5 { 1.0 } else { 2.0 }, &all);
    check("is_nan", IsNan, |x| if x.is_nan() { 1.0 } else { x }, &all);
}

#[test]
fn some_lanes_are_the_first_and_no_other_memory_is_touched() {
    struct First<E>([E; 16]);
    impl<E: Element + PartialEq + std::fmt::Debug> Kernel for First<E> {
        type Output = ();

        #[inline(always)]
        unsafe fn run<V: Vector>(self) {
            for count in 0..=V::LANES {
                let mut written = [self.0[15]; 17];
                let mut lanes = [7.0; 16];
                let mut chosen = [7.0; 16];
                // SAFETY: room for 16 elements, of which `count` are touched.
                unsafe {
                    let x = E::load_first::<V>(self.0.as_ptr(), count);
                    x.store(lanes.as_mut_ptr());
                    V::select(V::first(count), x, V::splat(-1.0)).store(chosen.as_mut_ptr());
                    E::store_first(x, written.as_mut_ptr(), count);
                }
                assert_eq!(written[..count], self.0[..count]);
                assert!(written[count..].iter().all(|it| *it == self.0[15]), "{count}");
                for lane in 0..V::LANES {
                    let value = (lane + 1) as f32;
                    assert_eq!(lanes[lane], if lane < count { value } else { 0.0 }, "{count}");
                    assert_eq!(chosen[lane], if lane < count { value } else { -1.0 }, "{count}");
                }
            }
        }
    }
    let numbers: [f32; 16] = std::array::from_fn(|index| (index + 1) as f32);
    for capability in Capability::available() {
        // SAFETY: available.
        unsafe { capability.run(First(numbers)) };
        // SAFETY: available.
        unsafe { capability.run(First(numbers.map(bf16::from_f32))) };
        // SAFETY: available.
        unsafe { capability.run(First(numbers.map(f16::from_f32))) };
    }
}

#[test]
fn lanes_are_summed_and_compared() {
    struct Fold([f32; 16]);
    impl Kernel for Fold {
        type Output = (usize, f32, f32);

        #[inline(always)]
        unsafe fn run<V: Vector>(self) -> Self::Output {
            // SAFETY: 16 values.
            unsafe {
                let x = V::load(self.0.as_ptr());
                (V::LANES, x.sum(), x.greatest())
            }
        }
    }
    for capability in Capability::available() {
        for greatest in 0..4 {
            let mut values: [f32; 16] = std::array::from_fn(|index| 0.5 - (1 << index) as f32);
            values.rotate_left(greatest);
            // SAFETY: available.
            let (lanes, sum, found) = unsafe { capability.run(Fold(values)) };
            assert_eq!(sum, values[..lanes].iter().sum::<f32>(), "{capability:?}");
            let expected = values[..lanes].iter().copied().fold(f32::MIN, f32::max);
            assert_eq!(found, expected, "{capability:?}");
        }
    }
}

/// Through memory of 16 bits a lane, and back.
struct Halves<'a, E> {
    values: &'a [f32],
    zero: E,
}

impl<E: Element> Kernel for Halves<'_, E> {
    type Output = (Vec<E>, Vec<f32>);

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Self::Output {
        let (mut halves, mut back) = (Vec::new(), Vec::new());
        for values in self.values.chunks_exact(V::LANES) {
            let (mut elements, mut lanes) = ([self.zero; 16], [7.0; 16]);
            // SAFETY: so many values, and room for them.
            unsafe {
                E::store(V::load(values.as_ptr()), elements.as_mut_ptr());
                E::load::<V>(elements.as_ptr()).store(lanes.as_mut_ptr());
            }
            halves.extend(&elements[..V::LANES]);
            back.extend(&lanes[..V::LANES]);
        }
        (halves, back)
    }
}

#[test]
fn halves_are_rounded_to_the_nearest_even_and_every_one_is_read() {
    let all = patterns();
    assert_eq!(all.len() % 16, 0);
    let halves = (0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f32());
    let all_bf16: Vec<f32> = halves.chain(all.iter().copied()).collect();
    let halves = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32());
    let all_f16: Vec<f32> = halves.chain(all).collect();
    for capability in Capability::available() {
        // SAFETY: available.
        let (rounded, back) =
            unsafe { capability.run(Halves { values: &all_bf16, zero: bf16::ZERO }) };
        assert_eq!(rounded.len(), all_bf16.len());
        for ((x, rounded), back) in all_bf16.iter().zip(rounded).zip(back) {
            let what = format!("{capability:?} of {x:e} {:#x}", x.to_bits());
            same(rounded.to_f32(), bf16::from_f32(*x).to_f32(), &what);
            same(back, rounded.to_f32(), &what);
        }
        // SAFETY: available.
        let (rounded, back) =
            unsafe { capability.run(Halves { values: &all_f16, zero: f16::ZERO }) };
        assert_eq!(rounded.len(), all_f16.len());
        for ((x, rounded), back) in all_f16.iter().zip(rounded).zip(back) {
            let what = format!("{capability:?} of {x:e} {:#x}", x.to_bits());
            same(rounded.to_f32(), f16::from_f32(*x).to_f32(), &what);
            same(back, rounded.to_f32(), &what);
        }
    }
}

#[test]
fn several_registers_are_as_one() {
    struct Both<'a>(&'a [f32]);
    impl Both<'_> {
        /// The results of every method for the values, some at a time.
        #[inline(always)]
        unsafe fn results<V: Vector>(&self) -> Vec<u32> {
            let mut all = Vec::new();
            for x in self.0.chunks_exact(64).flat_map(|block| block.chunks_exact(V::LANES)) {
                // SAFETY: the caller has the instructions; a vector of values, and room for one.
                unsafe {
                    let x = V::load(x.as_ptr());
                    let y = V::splat(1.7);
                    let (product, rest) = x.mul_exact(y);
                    for result in [
                        x.add(y).sub(x.abs()).mul(x.negative()).div(x.mul_add(y, x)).sqrt(),
                        x.min(y).max(V::splat(0.3)).round().in_step(),
                        product.add(rest),
                        V::splat(1.3).scale(V::splat(-40.0)),
                        V::select(x.less(y), x, V::select(x.is_nan(), y, x.reciprocal())),
                        V::from_bf16(x.to_bf16()),
                        V::from_f16(x.to_f16()),
                    ] {
                        let mut lanes = [0.0_f32; 64];
                        result.store(lanes.as_mut_ptr());
                        all.push(lanes[..V::LANES].to_vec());
                    }
                }
            }
            // Which NaN comes out of an operation on two is not specified: the compiler may swap the operands.
            let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
            // Equal results side by side, whatever the number in a vector.
            (0..7).flat_map(|it| all.iter().skip(it).step_by(7).flatten()).map(bits).collect()
        }
    }
    impl Kernel for Both<'_> {
        type Output = ();

        #[inline(always)]
        unsafe fn run<V: Vector>(self) {
            // SAFETY: the caller has the instructions.
            let (one, four) = unsafe { (self.results::<V>(), self.results::<Together<V>>()) };
            assert_eq!(one.len(), 7 * self.0.len() / 64 * 64);
            assert_eq!(one, four);
            let values: [f32; 64] = std::array::from_fn(|index| 0.5 - index as f32);
            for count in 0..=4 * V::LANES {
                let mut written = [9.0_f32; 64];
                let mut halves = [bf16::ONE; 64];
                // SAFETY: `count` values and room for them.
                let (sum, greatest) = unsafe {
                    let x = Together::<V>::load_first(values.as_ptr(), count);
                    x.store_first(written.as_mut_ptr(), count);
                    bf16::store_first(x, halves.as_mut_ptr(), count);
                    let y = bf16::load_first::<Together<V>>(halves.as_ptr(), count);
                    let first = Together::<V>::first(count);
                    let y = Together::<V>::select(first, y, Together::<V>::splat(-99.0));
                    (x.sum(), y.greatest())
                };
                assert_eq!(sum, values[..count].iter().sum::<f32>());
                assert_eq!(greatest, if count == 0 { -99.0 } else { 0.5 });
                assert_eq!(written[..count], values[..count]);
                assert!(written[count..].iter().all(|x| *x == 9.0), "{count}");
                assert!(halves[count..].iter().all(|x| *x == bf16::ONE), "{count}");
            }
        }
    }
    let all = patterns();
    for capability in Capability::available() {
        // SAFETY: available.
        unsafe { capability.run(Both(&all[..all.len() / 64 * 64])) };
    }
}
