//! The numbers that a dtype has.

use plan::Dtype;

/// A binary floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Float {
    /// Bits of the significand, the one that is not stored among them.
    significand: i32,
    /// Exponent of the smallest normal number.
    lowest: i32,
    /// Exponent of the largest number.
    highest: i32,
}

impl Float {
    /// The type of a dtype.
    pub const fn for_dtype(dtype: Dtype) -> Self {
        match dtype {
            Dtype::Float64 => Self { significand: 53, lowest: -1022, highest: 1023 },
            Dtype::Float32 => Self { significand: 24, lowest: -126, highest: 127 },
            Dtype::BFloat16 => Self { significand: 8, lowest: -126, highest: 127 },
            Dtype::Float16 => Self { significand: 11, lowest: -14, highest: 15 },
            Dtype::Float8E4M3Fn => Self { significand: 4, lowest: -6, highest: 8 },
        }
    }

    /// The largest relative error of rounding to nearest: half a unit in the last place of 1.
    pub fn unit_roundoff(self) -> f64 {
        2_f64.powi(-self.significand)
    }

    /// A number next to which the format has four others to a unit, but no more than 2¹².
    pub fn coarse(self) -> f64 {
        2_f64.powi((self.significand - 3).min(12))
    }

    /// The largest finite number.
    pub fn largest(self) -> f64 {
        (2.0 - 2.0 * self.unit_roundoff()) * 2_f64.powi(self.highest)
    }

    /// The smallest number that has all bits.
    pub fn smallest_normal(self) -> f64 {
        2_f64.powi(self.lowest)
    }

    /// The smallest number above zero.
    pub fn smallest(self) -> f64 {
        2_f64.powi(self.lowest - self.significand + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_float32_they_are_rusts_own() {
        let float = Float::for_dtype(Dtype::Float32);
        assert_eq!(float.largest(), f64::from(f32::MAX));
        assert_eq!(float.smallest_normal(), f64::from(f32::MIN_POSITIVE));
        assert_eq!(float.smallest(), f64::from(f32::from_bits(1)));
        assert_eq!(float.unit_roundoff(), f64::from(f32::EPSILON) / 2.0);
    }

    #[test]
    fn of_half_precision_they_are_the_formats() {
        let (float16, bfloat16) =
            (Float::for_dtype(Dtype::Float16), Float::for_dtype(Dtype::BFloat16));
        assert_eq!((float16.largest(), float16.smallest()), (65504.0, 2_f64.powi(-24)));
        let largest = f64::from(f32::from_bits(0x7f7f_0000));
        assert_eq!((bfloat16.largest(), bfloat16.smallest()), (largest, 2_f64.powi(-133)));
        assert_eq!(
            (float16.unit_roundoff(), bfloat16.unit_roundoff()),
            (2_f64.powi(-11), 2_f64.powi(-8))
        );
    }
}
