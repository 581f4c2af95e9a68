//! A value of a slice: which precisions a kernel of plain Rust has. Conversions are inlined: kernels are
//! of another crate, and their loops become vector code only around what they can see.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use half::{bf16, f16};
use plan::Dtype;

/// A floating-point number as it is stored. Arithmetic in it rounds after every operation, in half
/// precision by way of float32, so kernels compute in [`Self::Wide`] and round what they store, as
/// processors without arithmetic in half precision do.
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
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// What it is computed with: float32 for half precision, else the same.
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
}

impl Element for f64 {
    type Wide = Self;
    const DTYPE: Dtype = Dtype::Float64;

    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline]
    fn wide(self) -> Self {
        self
    }

    #[inline]
    fn narrow(wide: Self) -> Self {
        wide
    }
}

impl Element for f32 {
    type Wide = Self;
    const DTYPE: Dtype = Dtype::Float32;

    #[inline]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline]
    fn wide(self) -> Self {
        self
    }

    #[inline]
    fn narrow(wide: Self) -> Self {
        wide
    }
}

macro_rules! half_precision {
    ($half:ty, $dtype:expr) => {
        impl Element for $half {
            type Wide = f32;
            const DTYPE: Dtype = $dtype;

            #[inline]
            fn from_f64(value: f64) -> Self {
                Self::from_f64(value)
            }

            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn wide(self) -> f32 {
                f32::from(self)
            }

            #[inline]
            fn narrow(wide: f32) -> Self {
                Self::from_f32(wide)
            }
        }
    };
}

half_precision!(bf16, Dtype::BFloat16);
half_precision!(f16, Dtype::Float16);

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
}
