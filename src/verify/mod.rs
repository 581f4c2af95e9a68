//! Is the output right? Every case answers before its speed is measured.
//!
//! The yardstick is the same model or pattern, run in float64 on the unquantized weights and the same
//! input, for all rows of a small output and for evenly spaced rows of a large one (tokens and batch
//! elements do not influence each other in any model here).

mod gates;
mod reference;

pub use gates::min_sqnr_db;
pub use reference::{Reference, rows};

use plan::{Accuracy, Stat};
use tch::{Kind, TchError, Tensor};

/// An output's distance from its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// 20·log10(‖ref‖ / ‖ref − out‖) in dB; infinite when equal.
    pub sqnr_db: f64,
    /// Largest |ref − out|.
    pub max_abs_error: f64,
    /// ‖ref − out‖ / ‖ref‖; 0 when equal.
    pub relative_error: f64,
}

impl Distance {
    /// Compares two tensors of one size, in float64.
    pub fn between(reference: &Tensor, output: &Tensor) -> Result<Self, TchError> {
        let reference = reference.f_to_kind(Kind::Double)?;
        let error = output.f_to_kind(Kind::Double)?.f_sub(&reference)?;
        let max_abs_error = error.f_abs()?.f_max()?.f_double_value(&[])?;
        let (signal, noise) = (norm(&reference)?, norm(&error)?);
        // Two silent tensors are equal; NaN must stay NaN, so that no gate lets it through.
        let relative_error = if noise == 0.0 { 0.0 } else { noise / signal };
        Ok(Self { sqnr_db: -20.0 * relative_error.log10(), max_abs_error, relative_error })
    }

    /// The record's form, beside the gate that was applied and the rows that were compared.
    pub fn accuracy(self, min_sqnr_db: f64, rows_checked: u64) -> Accuracy {
        let Self { sqnr_db, max_abs_error, relative_error } = self;
        Accuracy {
            sqnr_db: Stat(sqnr_db),
            max_abs_error: Stat(max_abs_error),
            relative_error: Stat(relative_error),
            min_sqnr_db,
            rows_checked,
        }
    }
}

fn norm(tensor: &Tensor) -> Result<f64, TchError> {
    tensor.f_norm()?.f_double_value(&[])
}

/// Number of elements of `output`, all of it, that are NaN or infinite. Goes block by block, so
/// that a large output does not need several times its memory.
pub fn nonfinite(output: &Tensor) -> Result<i64, TchError> {
    const BLOCK: i64 = 1 << 24;
    let flat = output.f_reshape([-1])?;
    let all = flat.size1()?;
    let mut found = 0;
    let mut start = 0;
    while start < all {
        let block = flat.f_narrow(0, start, BLOCK.min(all - start))?;
        let broken = block.f_isfinite()?.f_logical_not()?;
        found += broken.f_count_nonzero(None::<i64>)?.f_int64_value(&[])?;
        start += BLOCK;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // ‖(3, 4)‖ = 5, error (0, 0.5): a tenth, 20 dB.
        let distance =
            Distance::between(&Tensor::from_slice(&[3.0, 4.0]), &Tensor::from_slice(&[3.0, 4.5]))
                .unwrap();
        assert!((distance.sqnr_db - 20.0).abs() < 1e-9, "{distance:?}");
        assert_eq!((distance.max_abs_error, distance.relative_error), (0.5, 0.1));
    }

    #[test]
    fn equal_is_infinite_and_nan_is_nan() {
        let compare = |a: f64, b: f64| {
            Distance::between(&Tensor::from_slice(&[a]), &Tensor::from_slice(&[b])).unwrap().sqnr_db
        };
        assert_eq!(compare(2.0, 2.0), f64::INFINITY);
        assert_eq!(compare(0.0, 0.0), f64::INFINITY);
        assert_eq!(compare(0.0, 1.0), f64::NEG_INFINITY);
        assert!(compare(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn everything_that_is_no_number_is_counted() {
        let output = Tensor::from_slice(&[1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        assert_eq!(nonfinite(&output).unwrap(), 3);
        assert_eq!(nonfinite(&Tensor::from_slice(&[0.0, f64::MAX])).unwrap(), 0);
    }
}
