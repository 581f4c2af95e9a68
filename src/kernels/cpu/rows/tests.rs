//! Every kernel against float64.

use tch::{Device, Kind, Tensor};

use super::add_layer_norm::add_layer_norm_with;
use super::layer_norm::layer_norm_with;
use super::mse_loss::mse_loss_with;
use super::rms_norm::rms_norm_with;
use super::*;

const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];
const DIMS: [i64; 16] = [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100, 768, 1000, 1023];
const EPS: f64 = 1e-5;
/// 2⁻²⁴: what a float32 is off by when it is rounded, at most, of itself.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

const DOUBLE: (Kind, Device) = (Kind::Double, Device::Cpu);

/// Numbers between −1 and 1 without a visible period, the same in every run: torch's generator is
/// everybody's.
fn wave(size: &[i64], frequency: f64) -> Tensor {
    let count = size.iter().product::<i64>();
    ((Tensor::arange(count, DOUBLE) * frequency + 0.3).sin() * 12.9).fmod(1.0).reshape(size)
}

/// Rows of many kinds, five of each, float64: what dtypes make of them is for the caller to see.
fn samples(dim: i64) -> Vec<(&'static str, Tensor)> {
    let noise = wave(&[5, dim], 1.7);
    vec![
        ("random", &noise * 3.0),
        ("far from zero", &noise + 1000.0),
        ("small deviation", &noise * 1e-4),
        ("subnormal", &noise * 1e-40),
        ("constant", noise.zeros_like() + 41.3),
        ("zero", noise.zeros_like()),
        ("large", &noise * 6e4),
        ("huge", &noise * 3e38),
        ("one infinity", with(&noise, f64::INFINITY)),
        ("one negative infinity", with(&noise, f64::NEG_INFINITY)),
        ("one NaN", with(&noise, f64::NAN)),
        ("negative infinities", noise.zeros_like() + f64::NEG_INFINITY),
    ]
}

/// With that value in the last column of the second row.
fn with(noise: &Tensor, value: f64) -> Tensor {
    let copy = noise.copy();
    let last = copy.size()[1] - 1;
    let _filled = copy.get(1).get(last).fill_(value);
    copy
}

/// The same values in a view whose rows are not aligned and lie apart; what is between them is NaN.
fn apart(tensor: &Tensor) -> Tensor {
    let (rows, dim) = tensor.size2().unwrap();
    let wide = Tensor::full([rows, dim + 5], f64::NAN, (tensor.kind(), Device::Cpu));
    let mut view = wide.narrow(1, 3, dim);
    view.copy_(tensor);
    view
}

fn doubles(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).contiguous().view(-1)).unwrap()
}

/// What a value is off by when it is rounded to the dtype, at most.
fn rounding(kind: Kind, value: f64) -> f64 {
    let (precision, least) = match kind {
        Kind::Float => (24, 2_f64.powi(-150)),
        Kind::BFloat16 => (8, 2_f64.powi(-134)),
        _ => (11, 2_f64.powi(-25)),
    };
    (value.abs() * 2_f64.powi(-precision)).max(least)
}

/// Demands that results are what float64 says: NaN and infinities in the same places, and the rest
/// within `bound` and the rounding to the dtype. Returns the largest error in parts of its bound.
#[track_caller]
fn check(found: &Tensor, expected: &Tensor, bound: &Tensor, what: &str) -> f64 {
    let rounded = doubles(&expected.to_kind(found.kind()));
    let all = doubles(found).into_iter().zip(doubles(expected)).zip(doubles(bound)).zip(rounded);
    let mut largest = 0_f64;
    for (index, (((found_one, expected), bound), rounded)) in all.enumerate() {
        if rounded.is_finite() && found_one.is_finite() {
            let rounding = rounding(found.kind(), expected);
            // A result just between two elements, and another that float32 rounding moves there.
            let error = (found_one - expected).abs() - rounding * (1.0 + 2.0 * ROUNDING);
            assert!(
                error <= bound,
                "{what}: {index} is {found_one:e}, not {expected:e}: {error:e}"
            );
            largest = largest.max(error / bound);
        } else {
            let same = found_one == rounded || found_one.is_nan() && rounded.is_nan();
            assert!(same, "{what}: {index} is {found_one}, not {rounded}");
        }
    }
    largest
}

/// Calls `work` for every dtype, size and kind of row, contiguous and apart.
fn for_all(mut work: impl FnMut(&Tensor, &str)) {
    for kind in KINDS {
        for dim in DIMS {
            for (name, sample) in samples(dim) {
                let x = sample.to_kind(kind);
                work(&x, &format!("{kind:?} {dim} {name}"));
                work(&apart(&x), &format!("{kind:?} {dim} {name}, apart"));
            }
        }
    }
}

/// Checks what every capability writes for `x`; what was there before shows if it does not.
fn every_capability(
    x: &Tensor,
    expected: &Tensor,
    bound: &Tensor,
    what: &str,
    run: impl Fn(Capability, &mut Tensor) -> Result<(), TchError>,
) -> f64 {
    let check = |capability| {
        let what = format!("{capability:?} {what}");
        let mut out = Tensor::full(expected.size(), 77.0, (x.kind(), Device::Cpu));
        if !x.is_contiguous() && out.dim() > 0 {
            out = apart(&out);
        }
        run(capability, &mut out).unwrap_or_else(|error| panic!("{what}: {error}"));
        check(&out, expected, bound, &what)
    };
    Capability::available().map(check).fold(0.0, f64::max)
}

/// Weight and bias.
fn parameters(x: &Tensor) -> (Tensor, Tensor) {
    let dim = x.size()[1];
    let (weight, bias) = (wave(&[dim], 0.9) * 2.0 + 1.1, wave(&[dim], 0.7));
    (weight.to_kind(x.kind()), bias.to_kind(x.kind()))
}

/// x̂ in float64.
fn normalized(x: &Tensor, centered: bool) -> Tensor {
    let x = x.to_kind(Kind::Double);
    let mean = |x: &Tensor| x.mean_dim(-1, true, Kind::Double);
    let deviation = if centered { &x - mean(&x) } else { x };
    &deviation / (mean(&deviation.square()) + EPS).sqrt()
}

#[test]
fn layer_norm_is_what_float64_says() {
    let mut largest = 0_f64;
    for_all(|x, what| {
        let normalized = normalized(x, true);
        let bound = (normalized.abs() + 1.0) * (4.0 * ROUNDING);
        let error = every_capability(x, &normalized, &bound, what, |capability, out| {
            layer_norm_with(capability, x, None, EPS, out)
        });
        largest = largest.max(error);

        let (weight, bias) = parameters(x);
        let [w, b] = [&weight, &bias].map(|it| it.to_kind(Kind::Double));
        let bound = bound * w.abs() + b.abs() * ROUNDING;
        let expected = normalized * w + b;
        let error = every_capability(x, &expected, &bound, what, |capability, out| {
            layer_norm_with(capability, x, Some((&weight, &bias)), EPS, out)
        });
        largest = largest.max(error);
    });
    println!("largest error: {largest:.2} of its bound");
}

#[test]
fn add_layer_norm_is_what_float64_says() {
    let mut largest = 0_f64;
    for_all(|x, what| {
        let (weight, bias) = parameters(x);
        let residual = (wave(&x.size(), 2.3) * 2.0).to_kind(x.kind());
        let [w, b] = [&weight, &bias].map(|it| it.to_kind(Kind::Double));
        let sum = x.to_kind(Kind::Double) + residual.to_kind(Kind::Double);
        let normalized = normalized(&sum, true);
        // By how much normalization enlarges what the sum is rounded by.
        let variance = sum.var_dim([-1].as_slice(), false, true);
        let enlarged = sum.abs().amax([-1], true) / (variance + EPS).sqrt();
        let bound = (normalized.abs() + 1.0) * (4.0 * ROUNDING) + enlarged * (2.0 * ROUNDING);
        let bound = bound * w.abs() + b.abs() * ROUNDING;
        let expected = normalized * w + b;
        let error = every_capability(x, &expected, &bound, what, |capability, out| {
            add_layer_norm_with(capability, x, &residual, &weight, &bias, EPS, out)
        });
        largest = largest.max(error);
    });
    println!("largest error: {largest:.2} of its bound");
}

#[test]
fn rms_norm_is_what_float64_says() {
    let mut largest = 0_f64;
    for_all(|x, what| {
        let weight = parameters(x).0;
        let expected = normalized(x, false) * weight.to_kind(Kind::Double);
        let subnormal = (weight.to_kind(Kind::Double).abs() + 1.0) * 2_f64.powi(-150);
        let bound = expected.abs() * (4.0 * ROUNDING) + subnormal;
        let error = every_capability(x, &expected, &bound, what, |capability, out| {
            rms_norm_with(capability, x, &weight, EPS, out)
        });
        largest = largest.max(error);
    });
    println!("largest error: {largest:.2} of its bound");
}

#[test]
fn mse_loss_is_what_float64_says() {
    let mut largest = 0_f64;
    for_all(|x, what| {
        let target = (wave(&x.size(), 2.3) * 2.0).to_kind(x.kind());
        let difference = x.to_kind(Kind::Double) - target.to_kind(Kind::Double);
        let expected = difference.square().mean(Kind::Double);
        let bound = &expected * (72.0 * ROUNDING);
        let error = every_capability(x, &expected, &bound, what, |capability, out| {
            mse_loss_with(capability, x, &target, out)
        });
        largest = largest.max(error);
    });
    println!("largest error: {largest:.2} of its bound");
}
