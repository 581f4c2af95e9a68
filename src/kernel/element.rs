//! A value of a slice: which precisions a kernel of plain Rust has. Conversions are inlined: kernels are
//! of another crate, and their loops become vector code only around what they can see.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use half::{bf16, f16};
use plan::Dtype;

/// A floating-point number as it is stored. Arithmetic in it rounds after every operation, in half
/// precision by way of float32, so kernels compute in [`Self::Wide`] and round what they store, as
/// processors without arithmetic in half precision do.
///
/// ```
/// use criterion_torch::kernel::prelude::*;
///
/// fn sum<T: Element>(values: &[T]) -> T {
///     let mut sum = T::Wide::from_f64(0.0);
///     for value in values {
///         sum += value.wide();
///     }
///     T::narrow(sum)
/// }
///
/// assert_eq!(sum(&[bf16::from_f64(1.5), bf16::from_f64(2.0)]).to_f64(), 3.5);
/// ```
pub trait Element:
    tch::kind::Element
    + Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Mul<Output = Self>
    + MulAssign
    + Div<Output = Self>
    + DivAssign
    + Neg<Output = Self>
    + 'static
{
    /// The type for computing with it: float32 for half precision, else the same.
    type Wide: Element<Wide = Self::Wide>;

    /// Its dtype.
    const DTYPE: Dtype;

    /// Rounds to nearest.
    fn from_f64(value: f64) -> Self;

    /// Without loss.
    fn to_f64(self) -> f64;

    /// Without loss.
    fn wide(self) -> Self::Wide;

    /// Rounds to nearest.
    fn narrow(wide: Self::Wide) -> Self;

    /// Its square root; NaN below 0.
    fn sqrt(self) -> Self;

    /// e to its power.
    fn exp(self) -> Self;

    /// Its natural logarithm; NaN below 0.
    fn ln(self) -> Self;

    /// Its magnitude.
    fn abs(self) -> Self;

    /// The larger of both; the other one if one is NaN.
    fn max(self, other: Self) -> Self;

    /// The smaller of both; the other one if one is NaN.
    fn min(self, other: Self) -> Self;

    /// `self · factor + addend`, rounded once in [`Self::Wide`].
    fn mul_add(self, factor: Self, addend: Self) -> Self;

    /// Its whole power.
    fn powi(self, exponent: i32) -> Self;
}

/// Functions of [`Element`], each by the one of what it is computed with.
macro_rules! functions {
    ($wide:ty: $($name:ident($self:ident $(, $argument:ident: $type:ty => $value:expr)*)),+) => {$(
        #[inline]
        fn $name($self $(, $argument: $type)*) -> Self {
            Self::narrow(<$wide>::$name($self.wide() $(, $value)*))
        }
    )+};
}

/// A number that is computed with as `$wide`.
macro_rules! element {
    ($number:ty, $dtype:ident, $wide:ty, $from_f64:expr, $narrow:expr) => {
        impl Element for $number {
            type Wide = $wide;
            const DTYPE: Dtype = Dtype::$dtype;

            #[inline]
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }

            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn wide(self) -> $wide {
                <$wide>::from(self)
            }

            #[inline]
            fn narrow(wide: $wide) -> Self {
                $narrow(wide)
            }

            functions! { $wide:
                sqrt(self),
                exp(self),
                ln(self),
                abs(self),
                max(self, other: Self => other.wide()),
                min(self, other: Self => other.wide()),
                mul_add(self, factor: Self => factor.wide(), addend: Self => addend.wide()),
                powi(self, exponent: i32 => exponent)
            }
        }
    };
}

element!(f64, Float64, f64, f64::from, f64::from);
element!(f32, Float32, f32, |value| value as f32, f32::from);
element!(bf16, BFloat16, f32, bf16::from_f64, bf16::from_f32);
element!(f16, Float16, f32, f16::from_f64, f16::from_f32);

#[cfg(test)]
mod tests {
    use super::*;

    fn third<T: Element>() -> f64 {
        T::narrow(T::Wide::from_f64(1.0) / T::Wide::from_f64(3.0)).to_f64()
    }

    #[test]
    fn each_rounds_to_its_own_precision() {
        assert_eq!(third::<f64>(), 1.0 / 3.0);
        assert_eq!(third::<f32>(), f64::from(1.0_f32 / 3.0));
        // 8 and 11 bits of significand: 171 / 512 and 1365 / 4096.
        assert_eq!(third::<bf16>(), 171.0 / 512.0);
        assert_eq!(third::<f16>(), 1365.0 / 4096.0);
    }

    /// Against float64's, to half a unit in the last place of `T`.
    fn functions_are_those_of_their_names<T: Element>(digits: i32) {
        let near = |found: T, exact: f64| {
            let allowed = exact.abs() * 2.0_f64.powi(-digits);
            assert!(
                (found.to_f64() - exact).abs() <= allowed,
                "{:?}: {found:?}, {exact}",
                T::DTYPE
            );
        };
        let (x, y) = (T::from_f64(2.375), T::from_f64(-0.75));
        near(x.sqrt(), 2.375_f64.sqrt());
        near(x.exp(), 2.375_f64.exp());
        near(x.ln(), 2.375_f64.ln());
        near(x.powi(3), 2.375_f64.powi(3));
        near(x.powi(-2), 2.375_f64.powi(-2));
        near(x.mul_add(x, y), 2.375 * 2.375 - 0.75);
        let exactly = |found: T, expected: f64| assert_eq!(found.to_f64(), expected);
        exactly(y.abs(), 0.75);
        exactly(x.max(y), 2.375);
        exactly(x.min(y), -0.75);
        let nan = y.sqrt();
        assert!(nan.to_f64().is_nan() && y.ln().to_f64().is_nan());
        exactly(nan.max(x), 2.375);
        exactly(x.min(nan), 2.375);
        let mut all = x;
        all -= y;
        exactly(all, 3.125);
        all *= y;
        exactly(all, -2.34375);
        all /= y;
        exactly(all, 3.125);
    }

    #[test]
    fn functions_round_to_their_own_precision() {
        functions_are_those_of_their_names::<f64>(51);
        functions_are_those_of_their_names::<f32>(23);
        functions_are_those_of_their_names::<bf16>(8);
        functions_are_those_of_their_names::<f16>(11);
    }

    #[test]
    fn a_multiplication_with_addition_rounds_once() {
        let x = 1.0 + f64::EPSILON;
        let fused = Element::mul_add(x, x, -(1.0 + 2.0 * f64::EPSILON));
        assert_eq!(fused, f64::EPSILON * f64::EPSILON);
    }
}
