//! Is the output right? Every case answers before its speed is measured.
//!
//! The yardstick is the same model or pattern, run in float64 on the unquantized weights and the same
//! input, for all rows of a small output and for evenly spaced rows of a large one (tokens and batch
//! elements do not influence each other in any model here).

mod gates;
mod judge;
mod reference;
mod trained;

pub use gates::{
    kernel_min_sqnr_db, kernel_terms, min_agreement_db, min_sqnr_db, min_trained_sqnr_db,
};
pub use judge::{Judge, spread};
pub use reference::{Reference, few, rows};
pub use trained::{Drawn, TrainedJudge};

use std::sync::atomic::{AtomicBool, Ordering};

use plan::{Accuracy, JsonFloat};
use tch::{TchError, Tensor};

use crate::inputs;
use crate::refusal::Refusal;

static IS_DONE: AtomicBool = AtomicBool::new(false);

/// Says that another process has checked the same cases: references are not computed from now on.
pub fn done() {
    IS_DONE.store(true, Ordering::Relaxed);
}

/// Whether no output is checked in this process.
pub fn is_done() -> bool {
    IS_DONE.load(Ordering::Relaxed)
}

/// An output's distance from its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// 20·log10(‖ref‖ / ‖ref − out‖) in dB; infinite when equal.
    pub sqnr_db: f64,
    /// Largest |ref − out|.
    pub max_abs_error: f64,
    /// ‖ref − out‖ / ‖ref‖; 0 when equal.
    pub relative_error: f64,
    /// √(mean (ref − out)²)
    pub rmse: f64,
}

impl Distance {
    /// The accuracy of an unverified output.
    pub const UNKNOWN: Self = Self {
        sqnr_db: f64::NAN,
        max_abs_error: f64::NAN,
        relative_error: f64::NAN,
        rmse: f64::NAN,
    };

    /// Compares two tensors of one size, in float64, block by block.
    pub fn between(reference: &Tensor, output: &Tensor) -> Result<Self, TchError> {
        let (expected, found) = (reference.size(), output.size());
        if expected != found || output.numel() == 0 {
            return Err(TchError::Shape(format!("{found:?} beside a reference of {expected:?}")));
        }
        let (mut signal, mut noise, mut max_abs_error) = (0.0_f64, 0.0_f64, 0.0_f64);
        for (reference, output) in blocks(reference)?.zip(blocks(output)?) {
            let reference = inputs::float64(&reference?)?;
            let error = inputs::float64(&output?)?.f_sub(&reference)?;
            signal += squares(&reference)?;
            noise += squares(&error)?;
            let largest = error.f_abs()?.f_max()?.f_double_value(&[])?;
            // NaN stays NaN: nothing is above it.
            if largest.is_nan() || largest > max_abs_error {
                max_abs_error = largest;
            }
        }
        Ok(Self::new(signal.sqrt(), noise.sqrt(), reference.numel(), max_abs_error))
    }

    /// Compares single values, a reference and an output each, that are no tensors.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (mut signal, mut noise, mut max_abs_error) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut count = 0;
        for (reference, output) in pairs {
            count += 1;
            let error = output - reference;
            signal += reference * reference;
            noise += error * error;
            max_abs_error = max_abs_error.max(error.abs());
        }
        Self::new(signal.sqrt(), noise.sqrt(), count, max_abs_error)
    }

    /// The two norms are of `count` values.
    fn new(signal: f64, noise: f64, count: usize, max_abs_error: f64) -> Self {
        // Two silent outputs are equal; NaN must stay NaN, so that no gate lets it through.
        let relative_error = if noise == 0.0 { 0.0 } else { noise / signal };
        let rmse = noise / (count as f64).sqrt();
        Self { sqnr_db: -20.0 * relative_error.log10(), max_abs_error, relative_error, rmse }
    }

    /// The record's form, or [`Refusal::Failed`] when it is below the gate or no number. `rows`
    /// were compared.
    pub fn judge(self, min_sqnr_db: f64, rows: u64) -> Result<Accuracy, Refusal> {
        // A ratio that is no number must not pass, hence the question put this way round.
        if self.sqnr_db >= min_sqnr_db {
            return Ok(self.accuracy(min_sqnr_db, rows));
        }
        let Self { sqnr_db, max_abs_error, relative_error, rmse: _ } = self;
        Err(Refusal::Failed(format!(
            "inaccurate: {sqnr_db:.1} dB signal-to-noise ratio is below the gate of \
             {min_sqnr_db:.1} dB (largest error {max_abs_error:.3e}, relative error \
             {relative_error:.3e}, {rows} rows against float64); if it is good enough, lower \
             `min_sqnr_db`"
        )))
    }

    /// The record's form, beside the gate that was applied and the rows that were compared.
    pub fn accuracy(self, min_sqnr_db: f64, rows_checked: u64) -> Accuracy {
        let Self { sqnr_db, max_abs_error, relative_error, rmse } = self;
        Accuracy {
            sqnr_db: JsonFloat(sqnr_db),
            max_abs_error: JsonFloat(max_abs_error),
            relative_error: JsonFloat(relative_error),
            rmse: Some(JsonFloat(rmse)),
            min_sqnr_db,
            rows_checked,
            gates: vec![],
            tensors: vec![],
            eager: None,
        }
    }
}

/// The sum of the squares.
fn squares(tensor: &Tensor) -> Result<f64, TchError> {
    let norm = tensor.f_norm()?.f_double_value(&[])?;
    Ok(norm * norm)
}

/// Elements that are looked at together, so that a large output does not need several times its memory.
const BLOCK: i64 = 1 << 20;

/// All elements of a tensor, in their order, block by block.
pub fn blocks(
    tensor: &Tensor,
) -> Result<impl Iterator<Item = Result<Tensor, TchError>> + use<>, TchError> {
    let flat = tensor.f_reshape([-1])?;
    let all = flat.size1()?;
    let starts = (0..all).step_by(BLOCK as usize);
    Ok(starts.map(move |start| flat.f_narrow(0, start, BLOCK.min(all - start))))
}

/// Number of elements of `output`, all of it, that are NaN or infinite.
pub fn nonfinite(output: &Tensor) -> Result<i64, TchError> {
    blocks(output)?.try_fold(0, |found, block| {
        let broken = block?.f_isfinite()?.f_logical_not()?;
        Ok(found + broken.f_count_nonzero(None::<i64>)?.f_int64_value(&[])?)
    })
}

#[cfg(test)]
mod tests {
    use tch::Kind;

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
    fn values_one_by_one_are_compared_as_tensors_are() {
        let (reference, output) = ([3.0, 4.0, -1.0], [3.0, 4.5, -1.25]);
        let tensors =
            Distance::between(&Tensor::from_slice(&reference), &Tensor::from_slice(&output));
        let singly = Distance::from_pairs(reference.into_iter().zip(output));
        let tensors = tensors.unwrap();
        assert!((singly.sqnr_db - tensors.sqnr_db).abs() < 1e-9, "{singly:?} {tensors:?}");
        assert_eq!(singly.max_abs_error, tensors.max_abs_error);
        for wrong in [f64::NAN, f64::INFINITY] {
            let broken = Distance::from_pairs([(1.0, 1.0), (2.0, wrong), (3.0, 3.0)]);
            assert!(broken.judge(-200.0, 3).is_err(), "{broken:?}");
        }
        assert_eq!(Distance::from_pairs([(1.0, 1.0)]).sqnr_db, f64::INFINITY);
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
    fn of_several_blocks_all_count() {
        let count = 2 * BLOCK + 3;
        let options = (Kind::Float, tch::Device::Cpu);
        let reference = Tensor::arange(count, options).sin();
        let noise = Tensor::arange(count, options).cos() * 1e-3;
        let output = &reference + noise;
        // As a whole, at once.
        let wide = reference.to_kind(Kind::Double);
        let error = output.to_kind(Kind::Double) - &wide;
        let number = |tensor: Tensor| tensor.double_value(&[]);
        let whole = number(error.norm()) / number(wide.norm());
        let distance = Distance::between(&reference, &output).unwrap();
        assert!((distance.relative_error / whole - 1.0).abs() < 1e-12, "{distance:?} {whole}");
        assert!((distance.sqnr_db + 20.0 * whole.log10()).abs() < 1e-9, "{distance:?}");
        assert_eq!(distance.max_abs_error, number(error.abs().max()));
        // Also of a tensor whose elements do not lie in order.
        let across = |tensor: &Tensor| tensor.narrow(0, 0, 2 * BLOCK).view([2, BLOCK]).tr();
        let straight = |tensor: &Tensor| across(tensor).contiguous();
        assert_eq!(
            Distance::between(&across(&reference), &straight(&output)).unwrap(),
            Distance::between(&straight(&reference), &across(&output)).unwrap()
        );
        for at in [5, BLOCK + 7, count - 1] {
            let with = |value: f64| {
                let broken = output.copy();
                drop(broken.get(at).fill_(value));
                Distance::between(&reference, &broken).unwrap()
            };
            let nan = with(f64::NAN);
            assert!(nan.sqnr_db.is_nan() && nan.max_abs_error.is_nan(), "{at}: {nan:?}");
            assert_eq!(with(f64::INFINITY).max_abs_error, f64::INFINITY, "{at}");
            let expected = (100.0 - number(wide.get(at))).abs();
            assert_eq!(with(100.0).max_abs_error, expected, "{at}");
        }
    }

    #[test]
    fn other_sizes_are_refused() {
        let of = |size: &[i64]| Tensor::ones(size, (Kind::Float, tch::Device::Cpu));
        for (reference, output) in [([2, 8], [8, 2]), ([2, 8], [1, 8]), ([0, 8], [0, 8])] {
            let refused = Distance::between(&of(&reference), &of(&output));
            assert!(refused.is_err(), "{reference:?} {output:?}");
        }
    }

    #[test]
    fn everything_that_is_no_number_is_counted() {
        let output = Tensor::from_slice(&[1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        assert_eq!(nonfinite(&output).unwrap(), 3);
        assert_eq!(nonfinite(&Tensor::from_slice(&[0.0, f64::MAX])).unwrap(), 0);
    }
}
