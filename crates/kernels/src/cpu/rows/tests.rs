//! Every kernel against float64.

use plan::Operator;
use tch::{Device, Kind, Tensor};

use super::*;
use crate::cpu::{compute, compute_with};
use crate::operands::Operands;

const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];
const DIMS: [i64; 16] = [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100, 768, 1000, 1023];
const EPS: f64 = Operator::EPSILON;
/// 2⁻²⁴: what a float32 is off by when it is rounded, at most, of itself.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;
const DOUBLE: (Kind, Device) = (Kind::Double, Device::Cpu);

/// Numbers between −1 and 1 without a visible period, the same in every run: torch's generator is
/// everybody's.
fn wave(size: &[i64], frequency: f64) -> Tensor {
    let count = size.iter().product::<i64>();
    ((Tensor::arange(count, DOUBLE) * frequency + 0.3).sin() * 12.9).fmod(1.0).reshape(size)
}

/// Rows of many kinds, nine of each, float64: what dtypes make of them is for the caller to see.
fn samples(dim: i64) -> Vec<(&'static str, Tensor)> {
    let noise = wave(&[9, dim], 1.7);
    let beginning = Tensor::arange(dim, DOUBLE).lt(64.0).to_kind(Kind::Double);
    vec![
        ("random", &noise * 3.0),
        ("far from zero", &noise + 1000.0),
        ("begins elsewhere", &noise + beginning * 50.0),
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

/// A view of these values whose rows are unaligned and apart; the gaps are NaN.
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

/// The largest error of rounding a value to the dtype.
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

fn weighted<'t>(x: &'t Tensor, weight: &'t Tensor) -> Operands<'t> {
    Operands { weight: Some(weight), ..Operands::unary(x) }
}

fn affine<'t>(x: &'t Tensor, weight: &'t Tensor, bias: &'t Tensor) -> Operands<'t> {
    Operands { bias: Some(bias), ..weighted(x, weight) }
}

fn loss<'t>(x: &'t Tensor, target: &'t Tensor) -> Operands<'t> {
    Operands { other: Some(target), ..Operands::unary(x) }
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
            compute_with(capability, Operator::LayerNormNoAffine, &Operands::unary(x), out)
        });
        largest = largest.max(error);

        let (weight, bias) = parameters(x);
        let [w, b] = [&weight, &bias].map(|it| it.to_kind(Kind::Double));
        let bound = bound * w.abs() + b.abs() * ROUNDING;
        let expected = normalized * w + b;
        let error = every_capability(x, &expected, &bound, what, |capability, out| {
            compute_with(capability, Operator::LayerNorm, &affine(x, &weight, &bias), out)
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
            let operands = Operands { other: Some(&residual), ..affine(x, &weight, &bias) };
            compute_with(capability, Operator::AddLayerNorm, &operands, out)
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
            compute_with(capability, Operator::RmsNorm, &weighted(x, &weight), out)
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
            mse_loss(capability, x, &target, out)
        });
        largest = largest.max(error);
    });
    println!("largest error: {largest:.2} of its bound");
}

#[test]
fn softmax_is_what_float64_says() {
    let mut largest = 0_f64;
    for_all(|x, what| {
        let exact = x.to_kind(Kind::Double);
        let expected = exact.softmax(-1, Kind::Double);
        let distance = (exact.amax([-1], true) - exact).clamp_max(1e3).nan_to_num(0.0, 0.0, 0.0);
        let bound = match x.kind() {
            Kind::Float => &expected * ((distance + 12.0) * ROUNDING) + 2_f64.powi(-150),
            _ => &expected * 2_f64.powi(-12) + 2_f64.powi(-149),
        };
        let error = every_capability(x, &expected, &bound, what, |capability, out| {
            softmax(capability, x, out)
        });
        largest = largest.max(error);
    });
    println!("largest error: {largest:.2} of its bound");
}

#[test]
fn cross_entropy_is_what_float64_says() {
    let mut largest = 0_f64;
    for_all(|x, what| {
        let dim = x.size()[1];
        let target = (Tensor::arange(9, (Kind::Int64, Device::Cpu)) * 7 + 2).remainder(dim);
        let exact = x.to_kind(Kind::Double);
        let log_sum = exact.logsumexp([-1], true);
        // torch's of a row with an infinity is an infinity; (x − max) is NaN there.
        let infinite = exact.amax([-1], true).isinf();
        let log_sum = log_sum.masked_fill(&infinite, f64::NAN);
        let losses = log_sum - exact.gather(1, &target.unsqueeze(1), false);
        let expected = losses.mean(Kind::Double);
        let bound = expected.abs() * 2_f64.powi(-50) + (16.0 + (dim as f64).ln()) * ROUNDING;
        let error = every_capability(x, &expected, &bound, what, |capability, out| {
            cross_entropy(capability, x, &target, out)
        });
        largest = largest.max(error);
    });
    println!("largest error: {largest:.2} of its bound");
}

/// Rows enough for several threads and blocks.
fn large(dim: i64) -> Tensor {
    wave(&[120_000 / dim, dim], 1.7).to_kind(Kind::Float)
}

#[test]
fn threads_change_nothing() {
    let threads = tch::get_num_threads();
    for dim in [8, 768, 60_000] {
        let x = large(dim);
        let (rows, other) = (x.size()[0], x.flip([0]));
        let target = Tensor::arange(rows, (Kind::Int64, Device::Cpu)).remainder(dim);
        let (weight, bias) = parameters(&x);
        let results = [1, 2, 3].map(|count| {
            tch::set_num_threads(count);
            let mut outs: Vec<_> = (0..4).map(|_| x.zeros_like()).collect();
            let mut losses: Vec<_> = (0..2).map(|_| x.mean(Kind::Float)).collect();
            let both = affine(&x, &weight, &bias);
            let sum = Operands { other: Some(&other), ..both };
            compute(Operator::LayerNorm, &both, &mut outs[0]).unwrap();
            compute(Operator::RmsNorm, &weighted(&x, &weight), &mut outs[1]).unwrap();
            compute(Operator::Softmax, &Operands::unary(&x), &mut outs[2]).unwrap();
            compute(Operator::AddLayerNorm, &sum, &mut outs[3]).unwrap();
            compute(Operator::MseLoss, &loss(&x, &other), &mut losses[0]).unwrap();
            compute(Operator::CrossEntropy, &loss(&x, &target), &mut losses[1]).unwrap();
            outs.extend(losses);
            outs
        });
        tch::set_num_threads(threads);
        for (found, expected) in results[1..].iter().flatten().zip(results[0].iter().cycle()) {
            assert_eq!(found, expected, "{dim}");
        }
        // And the last row is like the others.
        let expected = normalized(&x, true) * weight.to_kind(Kind::Double) + bias;
        let off = (results[1][0].to_kind(Kind::Double) - expected).abs().max();
        assert!(off.double_value(&[]) < 1e-5, "{dim}: {off:?}");
    }
}

fn standardize(x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    compute(Operator::LayerNormNoAffine, &Operands::unary(x), out)
}

fn mean_squared_error(x: &Tensor, target: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    compute(Operator::MseLoss, &loss(x, target), out)
}

fn entropy(x: &Tensor, target: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    compute(Operator::CrossEntropy, &loss(x, target), out)
}

#[test]
fn dimensions_before_the_last_are_rows() {
    let x = wave(&[2, 3, 4, 33], 1.7).to_kind(Kind::Float);
    let expected = normalized(&x, true).to_kind(Kind::Float);
    // As a part of the columns, of the first two dimensions, with one that is repeated.
    let mut wide = Tensor::zeros([2, 3, 4, 40], (Kind::Float, Device::Cpu));
    let mut columns = wide.narrow(3, 5, 33);
    standardize(&x, &mut columns).unwrap();
    assert!(columns.allclose(&expected, 1e-5, 1e-6, false));
    assert_eq!(wide.narrow(3, 0, 5), Tensor::zeros([2, 3, 4, 5], (Kind::Float, Device::Cpu)));
    wide = wide.zeros_like();
    let repeated = x.get(0).get(0).get(0).unsqueeze(0).expand([6, 33], false);
    let mut out = wide.narrow(3, 0, 33).copy().view([-1, 33]).narrow(0, 0, 6);
    standardize(&repeated, &mut out).unwrap();
    assert!(out.get(5).allclose(&expected.get(0).get(0).get(0), 1e-5, 1e-6, false));
    let mut vector = Tensor::zeros([33], (Kind::Float, Device::Cpu));
    standardize(&x.get(1).get(2).get(3), &mut vector).unwrap();
    assert!(vector.allclose(&expected.get(1).get(2).get(3), 1e-5, 1e-6, false));
}

#[test]
fn nothing_has_no_rows() {
    for size in [[0, 8], [8, 0], [0, 0]] {
        let x = Tensor::zeros(size, (Kind::Float, Device::Cpu));
        standardize(&x, &mut x.zeros_like()).unwrap();
        compute(Operator::Softmax, &Operands::unary(&x), &mut x.zeros_like()).unwrap();
        let mut loss = Tensor::from(0_f32);
        mean_squared_error(&x, &x, &mut loss).unwrap();
        assert!(loss.double_value(&[]).is_nan());
    }
    let (x, mut loss) = (Tensor::zeros([0, 8], (Kind::Float, Device::Cpu)), Tensor::from(0_f32));
    entropy(&x, &Tensor::zeros([0], (Kind::Int64, Device::Cpu)), &mut loss).unwrap();
    assert!(loss.double_value(&[]).is_nan());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let float = (Kind::Float, Device::Cpu);
    let x = wave(&[4, 6], 1.7).to_kind(Kind::Float);
    let norm = standardize;
    let error = |result: Result<(), TchError>, part: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    };
    error(norm(&x.tr(), &mut x.tr().zeros_like()), "x is [6, 4] with strides [1, 6]");
    let slanted = Tensor::zeros([4, 6, 8], float).transpose(0, 1);
    error(norm(&slanted, &mut slanted.zeros_like()), "rows one stride apart");
    error(norm(&Tensor::zeros([] as [i64; 0], float), &mut Tensor::from(0_f32)), "a dimension");
    error(norm(&x, &mut Tensor::zeros([4, 5], float)), "out is (Float, [4, 5])");
    error(norm(&x, &mut x.to_kind(Kind::Half)), "out is (Half, [4, 6])");
    error(norm(&x, &mut x.view([4, 6])), "shares memory");
    error(norm(&x, &mut x.get(0).zeros_like().expand([4, 6], false)), "overlap");
    let doubles = x.to_kind(Kind::Double);
    error(norm(&doubles, &mut doubles.zeros_like()), "x is Double, where float32, bfloat16");
    let (weight, short) = (Tensor::ones([6], float), Tensor::ones([5], float));
    let half = weight.to_kind(Kind::Half);
    let affine = |weight: &Tensor, bias: &Tensor| {
        compute(Operator::LayerNorm, &affine(&x, weight, bias), &mut x.zeros_like())
    };
    error(affine(&short, &weight), "weight is (Float, [5])");
    error(affine(&weight, &half), "bias is (Half, [6])");
    let stepped = Tensor::ones([12], float).slice(0, 0, 12, 2);
    error(affine(&stepped, &weight), "weight is [6] with strides [2]");
    error(
        mean_squared_error(&x, &x.narrow(0, 0, 3), &mut Tensor::from(0_f32)),
        "target is (Float, [3, 6])",
    );
    error(mean_squared_error(&x, &x, &mut Tensor::from(0.0)), "out is (Double, [])");
    error(mean_squared_error(&x, &x, &mut x.zeros_like()), "out is (Float, [4, 6])");
}

#[test]
fn a_target_that_is_no_class_is_an_error() {
    let logits = wave(&[4, 6], 1.7).to_kind(Kind::Float);
    let loss =
        |target: &[i64]| entropy(&logits, &Tensor::from_slice(target), &mut Tensor::from(0_f32));
    loss(&[0, 5, 3, 1]).unwrap();
    for (class, row) in [(6, 2), (-1, 0), (-100, 3), (i64::MAX, 1), (i64::MIN, 1)] {
        let mut target = [1; 4];
        target[row] = class;
        let text = loss(&target).unwrap_err().to_string();
        assert!(text.contains(&format!("row {row} is {class}")), "{text}");
    }
    assert!(loss(&[1, 2, 3]).is_err());
    let floats = Tensor::ones([4], (Kind::Float, Device::Cpu));
    assert!(entropy(&logits, &floats, &mut Tensor::from(0_f32)).is_err());
}
