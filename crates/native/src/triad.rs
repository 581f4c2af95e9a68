//! STREAM's triad in one pass over memory.

use tch::Tensor;

use super::border::{In, Status, check};
use super::error::Error;

unsafe extern "C" {
    fn ctn_triad(a: In, b: In, c: In, scale: f64) -> Status;
}

/// a = b + scale · c, written into `a`: ATen's `add` with its factor, which tch does not bind.
///
/// Reads two tensors and writes one, all of one size and dtype, on one device; allocates nothing. In the half-precision
/// formats it computes in float32 and rounds once.
pub fn triad(a: &mut Tensor, b: &Tensor, c: &Tensor, scale: f64) -> Result<(), Error> {
    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_ptr());
    // SAFETY: the tensors live during the call.
    check(unsafe { ctn_triad(a, b, c, scale) })
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use crate::border::tests::wave;
    use crate::memory;

    #[test]
    fn it_is_the_composition_rounded_once() {
        for kind in [Kind::Double, Kind::Float, Kind::BFloat16, Kind::Half] {
            // 33 values leave a rest behind every width of vectors. The factor is exact in all dtypes.
            let (b, c) = (wave(&[3, 33], kind), wave(&[3, 33], kind).flip([1]));
            let mut a = Tensor::zeros([3, 33], (kind, Device::Cpu));
            let address = a.data_ptr();
            triad(&mut a, &b, &c, 3.0).expect("computed");
            let exact = b.to_kind(Kind::Double) + c.to_kind(Kind::Double) * 3.0;
            let steps = match kind {
                Kind::BFloat16 => 1.0 / 128.0,
                Kind::Half => 1.0 / 1024.0,
                Kind::Float => 1e-6,
                _ => 1e-15,
            };
            // Half a step of numbers up to 4.
            let error = (a.to_kind(Kind::Double) - exact).abs().max().double_value(&[]);
            assert!(error <= 2.0 * steps, "{kind:?}: off by {error:e}");
            assert_eq!(a.data_ptr(), address, "{kind:?}");
        }
    }

    #[test]
    fn it_allocates_nothing() {
        let (b, c) = (wave(&[10_000], Kind::Float), wave(&[10_000], Kind::Float));
        let mut a = b.zeros_like();
        let (done, report) =
            memory::track(|| triad(&mut a, &b, &c, 3.0)).expect("nothing else tracks");
        done.expect("computed");
        assert_eq!(report.cpu.total_bytes, 0, "{report:?}");
        assert_eq!(a, &b + &c * 3.0);
    }

    #[test]
    fn tensors_that_differ_are_refused() {
        let (b, mut a) = (wave(&[4], Kind::Float), wave(&[4], Kind::Float));
        let mut refusal =
            |b: &Tensor, c: &Tensor| triad(&mut a, b, c, 3.0).expect_err("refused").to_string();
        assert_eq!(refusal(&b, &wave(&[1], Kind::Float)), "a triad of [4], [4] and [1]");
        let half = wave(&[4], Kind::BFloat16);
        assert_eq!(refusal(&b, &half), "a triad of Float, Float and BFloat16");
    }
}
