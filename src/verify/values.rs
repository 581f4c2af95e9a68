//! An output against its reference, value by value.

use tch::{Kind, TchError, Tensor};

/// What each value has to be.
#[derive(Debug)]
pub struct Values<'a> {
    /// In float64, on the host.
    pub reference: &'a Tensor,
    /// Largest |ref − out| of each value, likewise.
    pub allowed: &'a Tensor,
    /// The largest finite number of the output's dtype.
    pub largest: f64,
    /// Whether NaN may stand where the reference is infinite.
    pub infinity_may_be_nan: bool,
}

/// The value that is furthest from its reference, for what is allowed to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Worst {
    /// |ref − out| over what is allowed; infinite where NaN or infinity stand where they must not.
    pub ratio: f64,
    /// Its index in the output.
    pub index: Vec<i64>,
    /// The value.
    pub output: f64,
    /// What it should be.
    pub reference: f64,
    /// How far it may be from that.
    pub allowed: f64,
}

impl Values<'_> {
    /// The worst value of an output of the reference's size.
    ///
    /// # Errors
    /// Another size; what libtorch refuses.
    pub fn worst(&self, output: &Tensor) -> Result<Worst, TchError> {
        let size = self.reference.size();
        for tensor in [output, self.allowed] {
            if tensor.size() != size {
                let found = tensor.size();
                return Err(TchError::Shape(format!("{found:?} beside a reference of {size:?}")));
            }
        }
        let (outputs, references) = (numbers(output)?, numbers(self.reference)?);
        let allowed = numbers(self.allowed)?;
        let mut worst = None::<Worst>;
        for (flat, ((output, reference), allowed)) in
            outputs.into_iter().zip(references).zip(allowed).enumerate()
        {
            let ratio = self.ratio(output, reference, allowed);
            if worst.as_ref().is_none_or(|worst| ratio > worst.ratio) {
                let index = unravel(flat, &size);
                worst = Some(Worst { ratio, index, output, reference, allowed });
            }
        }
        worst.ok_or_else(|| TchError::Shape("an output without values".to_owned()))
    }

    fn ratio(&self, output: f64, reference: f64, allowed: f64) -> f64 {
        let rounds_to_infinity = reference.abs() + allowed > self.largest
            && output.is_infinite()
            && output.signum() == reference.signum();
        let as_it_should =
            output == reference || (output.is_nan() && reference.is_nan()) || rounds_to_infinity;
        if as_it_should || (self.infinity_may_be_nan && output.is_nan() && reference.is_infinite())
        {
            return 0.0;
        }
        let ratio = (reference - output).abs() / allowed;
        // ∞/∞ is no pass.
        if ratio.is_nan() || !reference.is_finite() { f64::INFINITY } else { ratio }
    }
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>, TchError> {
    let tensor = tensor.f_to_device(tch::Device::Cpu)?.f_to_kind(Kind::Double)?;
    Vec::try_from(tensor.f_contiguous()?.f_view([-1])?)
}

/// The index of the element that is `flat`-th in memory.
fn unravel(flat: usize, size: &[i64]) -> Vec<i64> {
    let mut rest = i64::try_from(flat).unwrap_or(i64::MAX);
    let mut index: Vec<i64> = size
        .iter()
        .rev()
        .map(|&size| {
            let at = rest % size;
            rest /= size;
            at
        })
        .collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(output: &[f64], reference: &[f64], infinity_may_be_nan: bool) -> Worst {
        let allowed = Tensor::from_slice(&vec![0.5; reference.len()]);
        let reference = Tensor::from_slice(reference);
        let largest = 100.0;
        let values =
            Values { reference: &reference, allowed: &allowed, largest, infinity_may_be_nan };
        values.worst(&Tensor::from_slice(output)).unwrap()
    }

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;

    #[test]
    fn the_worst_value_is_named() {
        let worst = worst(&[1.0, 2.25, 3.125], &[1.0, 2.0, 3.0], false);
        let expected =
            Worst { ratio: 0.5, index: vec![1], output: 2.25, reference: 2.0, allowed: 0.5 };
        assert_eq!(worst, expected);
        assert_eq!(unravel(7, &[2, 1, 4]), [1, 0, 3]);
    }

    #[test]
    fn what_is_no_number_has_its_place() {
        let ratio = |output: f64, reference: f64| worst(&[output], &[reference], false).ratio;
        for (same, other) in [(NAN, 1.0), (INF, 1.0), (-INF, 1.0), (INF, NAN), (INF, -INF)] {
            assert_eq!((ratio(same, same), ratio(other, other)), (0.0, 0.0));
            assert_eq!((ratio(same, other), ratio(other, same)), (INF, INF), "{same} {other}");
        }
        assert_eq!(ratio(NAN, -INF), INF);
        assert_eq!(worst(&[NAN], &[-INF], true).ratio, 0.0);
        assert_eq!(worst(&[NAN], &[1.0], true).ratio, INF);
    }

    #[test]
    fn what_is_beyond_the_largest_number_may_be_infinite() {
        let ratio = |output: f64, reference: f64| worst(&[output], &[reference], false).ratio;
        assert_eq!((ratio(INF, 99.75), ratio(INF, 1e9), ratio(-INF, -1e9)), (0.0, 0.0, 0.0));
        assert_eq!((ratio(INF, 99.25), ratio(-INF, 1e9)), (INF, INF));
    }

    #[test]
    fn another_size_is_refused() {
        let (two, one) = (Tensor::from_slice(&[1.0, 2.0]), Tensor::from_slice(&[1.0]));
        let values =
            Values { reference: &two, allowed: &two, largest: 1.0, infinity_may_be_nan: false };
        assert!(values.worst(&one).is_err());
    }
}
