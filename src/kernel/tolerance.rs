//! An output against its reference, value by value.

use plan::{Gate, JsonFloat};
use tch::{Kind, TchError, Tensor};

use crate::refusal::Refusal;

/// The demand on each value of an output.
#[derive(Debug)]
pub struct Tolerance {
    /// The size of the inputs, as the record has it.
    pub size: Vec<u64>,
    /// In float64, on the host.
    pub reference: Tensor,
    /// The largest |ref − out| of each value, likewise.
    pub allowed: Tensor,
    /// The largest finite number of the output's dtype, beyond which it may be infinite.
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
    /// The expected value.
    pub reference: f64,
    /// How far it may be from that.
    pub allowed: f64,
}

impl Tolerance {
    /// The gate of `inputs` whose worst value is this.
    ///
    /// # Errors
    /// Failed, where that is further from its reference than is allowed.
    pub fn gate(&self, inputs: &str, worst: Worst) -> Result<Gate, Refusal> {
        // A ratio that is no number must not pass, hence the question put this way round.
        if worst.ratio <= 1.0 {
            let (inputs, size) = (inputs.to_owned(), self.size.clone());
            return Ok(Gate { inputs, size, worst: JsonFloat(worst.ratio) });
        }
        let Worst { index, output, reference, allowed, .. } = worst;
        let size = self.size.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
        let mut what = format!(
            "inaccurate: of {inputs} inputs of {size}, the output at {index:?} is {output:e} instead of \
             {reference:e}"
        );
        if reference.is_finite() {
            what += &format!(", which may err by {allowed:.3e}");
        }
        Err(Refusal::Failed(what))
    }

    /// The worst value of an output of the reference's size.
    pub fn worst(&self, output: &Tensor) -> Result<Worst, TchError> {
        let size = self.reference.size();
        for tensor in [output, &self.allowed] {
            if tensor.size() != size {
                let found = tensor.size();
                return Err(TchError::Shape(format!("{found:?} beside a reference of {size:?}")));
            }
        }
        let (output, all) = (flat(output)?, output.numel() as i64);
        let (reference, allowed) = (flat(&self.reference)?, flat(&self.allowed)?);
        let mut worst = None::<Worst>;
        for start in (0..all).step_by(BLOCK) {
            let of = |it: &Tensor| it.f_narrow(0, start, (all - start).min(BLOCK as i64));
            let (output, reference) = (double(&of(&output)?)?, of(&reference)?);
            let allowed = of(&allowed)?;
            let ratios = self.ratios(&output, &reference, &allowed)?;
            let at = ratios.f_argmax(None::<i64>, false)?.f_int64_value(&[])?;
            let ratio = ratios.f_double_value(&[at])?;
            if worst.as_ref().is_none_or(|worst| ratio > worst.ratio) {
                let [output, reference, allowed] =
                    [output, reference, allowed].map(|it| it.f_double_value(&[at]));
                let index = unravel(start + at, &size);
                let (output, reference, allowed) = (output?, reference?, allowed?);
                worst = Some(Worst { ratio, index, output, reference, allowed });
            }
        }
        worst.ok_or_else(|| TchError::Shape("an output without values".to_owned()))
    }

    /// |ref − out| over what is allowed; 0 where it is as it should be without a difference that is a
    /// number, infinite where NaN or infinity stand where they must not.
    fn ratios(
        &self,
        output: &Tensor,
        reference: &Tensor,
        allowed: &Tensor,
    ) -> Result<Tensor, TchError> {
        let ratios = reference.f_sub(output)?.f_abs()?.f_div(allowed)?;
        // NaN and infinity of either side, and nothing allowed to what is equal, show in a ratio.
        if ratios.f_max()?.f_double_value(&[])?.is_finite() {
            return Ok(ratios);
        }
        let (nan, infinite) = (output.f_isnan()?, output.f_isinf()?);
        let rounds_to_infinity = reference
            .f_abs()?
            .f_add(allowed)?
            .f_gt(self.largest)?
            .f_logical_and(&infinite)?
            .f_logical_and(&output.f_sign()?.f_eq_tensor(&reference.f_sign()?)?)?;
        let mut as_it_should = output
            .f_eq_tensor(reference)?
            .f_logical_or(&nan.f_logical_and(&reference.f_isnan()?)?)?
            .f_logical_or(&rounds_to_infinity)?;
        if self.infinity_may_be_nan {
            as_it_should = as_it_should.f_logical_or(&nan.f_logical_and(&reference.f_isinf()?)?)?;
        }
        // ∞/∞ is no pass.
        let broken = ratios.f_isnan()?.f_logical_or(&reference.f_isfinite()?.f_logical_not()?)?;
        ratios.f_masked_fill(&broken, f64::INFINITY)?.f_masked_fill(&as_it_should, 0.0)
    }
}

/// Values that are looked at together: as many as stay in a cache with what is computed from them.
const BLOCK: usize = 1 << 15;

/// All values, on the host, in the dtype that they are in.
fn flat(tensor: &Tensor) -> Result<Tensor, TchError> {
    tensor.f_to_device(tch::Device::Cpu)?.f_reshape([-1])
}

fn double(tensor: &Tensor) -> Result<Tensor, TchError> {
    tensor.f_to_kind(Kind::Double)
}

/// The index of the element that is `flat`-th of all.
pub fn unravel(flat: i64, size: &[i64]) -> Vec<i64> {
    let mut rest = flat;
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
        let tolerance =
            Tolerance { size: vec![], reference, allowed, largest: 100.0, infinity_may_be_nan };
        tolerance.worst(&Tensor::from_slice(output)).unwrap()
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
    fn of_several_blocks_the_worst_is_found() {
        let count = 2 * BLOCK as i64 + 3;
        let reference = Tensor::zeros([count], (Kind::Double, tch::Device::Cpu));
        let (allowed, output) = (reference.ones_like(), reference.copy());
        let tolerance = Tolerance {
            size: vec![],
            reference,
            allowed,
            largest: 100.0,
            infinity_may_be_nan: false,
        };
        for (at, wrong) in [(5, 0.25), (BLOCK as i64 + 7, 0.5), (count - 1, 0.75)] {
            drop(output.get(at).fill_(wrong));
            let worst = tolerance.worst(&output).unwrap();
            assert_eq!((worst.ratio, worst.index, worst.output), (wrong, vec![at], wrong));
        }
    }

    #[test]
    fn another_size_is_refused() {
        let (two, one) = (Tensor::from_slice(&[1.0, 2.0]), Tensor::from_slice(&[1.0]));
        let tolerance = Tolerance {
            size: vec![],
            reference: two.shallow_clone(),
            allowed: two,
            largest: 1.0,
            infinity_may_be_nan: false,
        };
        assert!(tolerance.worst(&one).is_err());
    }
}
