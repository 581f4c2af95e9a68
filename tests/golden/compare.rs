//! Comparing with fixtures.

use tch::{Kind, Tensor};

use super::fixture::Fixture;

impl Fixture {
    /// Demands that `found` is the tensor `name` to the last bit; trailing dimensions of 1 aside,
    /// and NaN is NaN, whatever its bits. For most such tensors our files hold only the digest.
    pub fn expect_bits(&self, name: &str, found: &Tensor) {
        if let Some(expected) = self.digest(name) {
            assert_eq!(digest(found), expected, "{self}: {name}");
            return;
        }
        let expected = self.tensor(name);
        let what = format!("{self}: {name}");
        let (found_bits, expected_bits) = (bits(found), bits(expected));
        assert_eq!(found_bits.kind(), expected_bits.kind(), "{what}: {:?}", found.kind());
        assert_eq!(found.numel(), expected.numel(), "{what}: {:?}", found.size());
        let found = found.reshape(expected.size());
        let different = found_bits.reshape(expected.size()).not_equal_tensor(&expected_bits);
        let nan = match found.kind() {
            kind @ (Kind::Float8e4m3fn | Kind::Float8e5m2) => {
                nan(&found).logical_and(&float8_nan(&expected_bits, kind))
            }
            _ => nan(&found).logical_and(&nan(expected)),
        };
        let different = different.logical_and(&nan.logical_not()).sum(Kind::Int64).int64_value(&[]);
        assert_eq!(different, 0, "{what}: {different} of {} differ", expected.numel());
    }

    /// The norm of the difference between `found` and the tensor `name`.
    pub fn distance(&self, name: &str, found: &Tensor) -> f64 {
        let expected = self.tensor(name).to_kind(Kind::Double);
        (found.to_kind(Kind::Double) - expected).norm().double_value(&[])
    }

    /// Demands that `found` is the tensor `name` within `steps` of its dtype's precision, measured
    /// against the largest value of the row: what another order of summation can change. Non-finite
    /// values have to be the same.
    pub fn expect_rounding(&self, name: &str, found: &Tensor, steps: f64) {
        let expected = self.tensor(name);
        let what = format!("{self}: {name}");
        assert_eq!((found.kind(), found.size()), (expected.kind(), expected.size()), "{what}");
        let epsilon = match expected.kind() {
            Kind::BFloat16 => 2f64.powi(-8),
            Kind::Float => 2f64.powi(-24),
            other => panic!("{what}: {other:?}"),
        };
        let (found, expected) = (found.to_kind(Kind::Double), expected.to_kind(Kind::Double));
        let finite = expected.isfinite();
        assert!(finite.equal(&found.isfinite()), "{what}: NaN or infinite elsewhere");
        let zero = expected.zeros_like();
        let (found, expected) =
            (found.where_self(&finite, &zero), expected.where_self(&finite, &zero));
        let error = (found - &expected).abs();
        let unit = (expected.abs().amax([-1], true) * epsilon).clamp_min(f64::MIN_POSITIVE);
        let worst = (error / unit).max().double_value(&[]);
        assert!(worst <= steps, "{what}: off by {worst:.2} roundings, {steps} allowed");
    }
}

/// The elements that are NaN.
fn nan(tensor: &Tensor) -> Tensor {
    match tensor.kind() {
        kind @ (Kind::Float8e4m3fn | Kind::Float8e5m2) => float8_nan(&bits(tensor), kind),
        _ => tensor.isnan(),
    }
}

/// NaN by the bits that files have.
fn float8_nan(bits: &Tensor, kind: Kind) -> Tensor {
    let magnitude = bits.bitwise_and(0x7f);
    // e5m2 has infinities, above which there are three NaNs.
    if kind == Kind::Float8e5m2 { magnitude.gt(0x7c) } else { magnitude.eq(0x7f) }
}

/// As `digest.py` makes it.
fn digest(tensor: &Tensor) -> String {
    let one_nan = match tensor.kind() {
        Kind::BFloat16 => 0x7fc0,
        Kind::Half => 0x7e00,
        Kind::Float => 0x7fc0_0000,
        _ => 0x7f,
    };
    let bits = bits(tensor).masked_fill(&nan(tensor), one_nan).contiguous();
    let mut size = bits.size();
    while size.pop_if(|last| *last == 1).is_some() {}
    let bytes = Vec::<u8>::try_from(bits.reshape([-1]).view_dtype(Kind::Uint8)).unwrap();
    format!("{:?} {size:?} {:032x}", bits.kind(), plan::fnv1a_128(bytes))
}

/// The bits of numbers as integers, which alone tell −0 from 0.
fn bits(tensor: &Tensor) -> Tensor {
    match tensor.kind() {
        Kind::BFloat16 | Kind::Half => tensor.contiguous().view_dtype(Kind::Int16),
        Kind::Float => tensor.contiguous().view_dtype(Kind::Int),
        Kind::Float8e4m3fn | Kind::Float8e5m2 => tensor.contiguous().view_dtype(Kind::Uint8),
        _ => tensor.shallow_clone(),
    }
}
