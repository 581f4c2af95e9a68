use plan::Operator;
use tch::{Device, Kind};

use super::*;
use crate::cpu::compute_with;
use crate::operands::Operands;

const CPU: Device = Device::Cpu;
const KINDS: [Kind; 3] = [Kind::Float, Kind::BFloat16, Kind::Half];

/// A rest for every step of a pass, of every width.
const WIDTHS: [i64; 9] = [1, 3, 8, 15, 17, 64, 127, 300, 4099];

type Float64 = fn(&Tensor, &Tensor) -> Tensor;

/// Every operator, and what it is by ATen in float64, of x and a bias.
const OPERATORS: [(Operator, Float64); 4] = [
    (Operator::Gelu, |x, _| x.gelu("none")),
    (Operator::GeluTanh, |x, _| x.gelu("tanh")),
    (Operator::Silu, |x, _| x.silu()),
    // The sum is one of float32.
    (Operator::BiasGelu, |x, bias| {
        (x + bias).to_kind(Kind::Float).to_kind(Kind::Double).gelu("none")
    }),
];

fn run(
    capability: Capability,
    operator: Operator,
    x: &Tensor,
    bias: &Tensor,
    out: &mut Tensor,
) -> Result<(), TchError> {
    let bias = (operator == Operator::BiasGelu).then_some(bias);
    compute_with(capability, operator, &Operands { bias, ..Operands::unary(x) }, out)
}

fn gelu(x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    run(Capability::best(), Operator::Gelu, x, x, out)
}

fn bias_gelu(x: &Tensor, bias: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    run(Capability::best(), Operator::BiasGelu, x, bias, out)
}

/// Numbers between −6 and 6, the same in every run.
fn wave(size: &[i64], kind: Kind) -> Tensor {
    let count = size.iter().product::<i64>();
    let steps = Tensor::arange(count, (Kind::Double, CPU));
    ((steps * 1.7).sin() * 6.0).reshape(size).to_kind(kind)
}

/// Demands the results of float64 within what a dtype can hold; the bounds in full are `math`'s.
fn check(out: &Tensor, exact: &Tensor, what: &str) {
    let (found, exact) = (out.to_kind(Kind::Double), exact.to_kind(Kind::Double));
    let precision = match out.kind() {
        Kind::Float => 6.3 * 2_f64.powi(-23),
        Kind::BFloat16 => 2_f64.powi(-7),
        _ => 2_f64.powi(-10),
    };
    // ATen's own float64 cancels in the tail; and float16 is subnormal there.
    let excess = (&found - &exact).abs() - exact.abs() * precision;
    let least = if out.kind() == Kind::Half { 2_f64.powi(-24) } else { 1e-15 };
    let excess = excess.max().double_value(&[]);
    assert!(excess <= least, "{what}: {excess:e} more than allowed");
}

#[test]
fn every_operator_is_float64s_with_every_capability_and_width() {
    for capability in Capability::available() {
        for (operator, float64) in OPERATORS {
            for (kind, width) in KINDS.into_iter().flat_map(|kind| WIDTHS.map(|it| (kind, it))) {
                let (x, bias) = (wave(&[2, 3, width], kind), wave(&[width], kind));
                let mut out = x.full_like(f64::NAN);
                run(capability, operator, &x, &bias, &mut out).unwrap();
                let exact = float64(&x.to_kind(Kind::Double), &bias.to_kind(Kind::Double));
                check(&out, &exact, &format!("{operator:?} {capability:?} {kind:?} {width}"));
            }
        }
    }
}

#[test]
fn rows_with_gaps_and_in_place() {
    for capability in Capability::available() {
        for (operator, _) in OPERATORS {
            for kind in KINDS {
                let what = format!("{operator:?} {capability:?} {kind:?}");
                let (dense, bias) = (wave(&[5, 37], kind), wave(&[37], kind));
                let mut expected = dense.empty_like();
                run(capability, operator, &dense, &bias, &mut expected).unwrap();
                // Three elements before a row and two after it.
                let gap = |value: f64| Tensor::full([5, 42], value, (kind, CPU));
                let (from, to) = (gap(9.0), gap(7.0));
                let (mut x, mut out) = (from.narrow(1, 3, 37), to.narrow(1, 3, 37));
                x.copy_(&dense);
                run(capability, operator, &x, &bias, &mut out).unwrap();
                assert_eq!(out, expected, "{what}");
                let around =
                    to.narrow(1, 0, 3).sum(Kind::Double) + to.narrow(1, 40, 2).sum(Kind::Double);
                assert_eq!(around.double_value(&[]), 5.0 * 5.0 * 7.0, "{what}");
                assert_eq!(x, dense, "{what}");
                // From rows with gaps to rows without, the other way round, and in place.
                let mut packed = dense.empty_like();
                run(capability, operator, &x, &bias, &mut packed).unwrap();
                assert_eq!(packed, expected, "{what}");
                run(capability, operator, &dense, &bias, &mut out.fill(0.0)).unwrap();
                assert_eq!(out, expected, "{what}");
                run(capability, operator, &x.shallow_clone(), &bias, &mut x).unwrap();
                assert_eq!(x, expected, "{what} in place");
            }
        }
    }
}

#[test]
fn dimensions_of_any_number_and_none() {
    for size in [&[][..], &[1], &[7], &[1, 1, 1], &[2, 1, 3, 5], &[0], &[3, 0], &[2, 0, 3], &[0, 4]]
    {
        let x = wave(size, Kind::Float);
        let mut out = x.full_like(f64::NAN);
        gelu(&x, &mut out).unwrap();
        assert_eq!((out.size(), out.isnan().any().int64_value(&[])), (size.to_vec(), 0));
        let bias = Tensor::zeros([size.last().copied().unwrap_or(1)], (Kind::Float, CPU));
        let mut with_bias = x.full_like(f64::NAN);
        bias_gelu(&x, &bias, &mut with_bias).unwrap();
        assert_eq!(with_bias, out, "{size:?}");
    }
    // One row, repeated.
    let (row, mut out) = (wave(&[1, 33], Kind::Float), Tensor::zeros([4, 33], (Kind::Float, CPU)));
    run(Capability::best(), Operator::Silu, &row.expand([4, 33], false), &row, &mut out).unwrap();
    assert_eq!(out.narrow(0, 3, 1), out.narrow(0, 0, 1));
    assert_ne!(out.narrow(0, 3, 1), row);
}

#[test]
fn threads_change_no_bit() {
    let threads = tch::get_num_threads();
    for (operator, _) in OPERATORS {
        for size in [&[70_001_i64][..], &[3, 40_000], &[1000, 101]] {
            let (x, bias) =
                (wave(size, Kind::BFloat16), wave(&size[size.len() - 1..], Kind::BFloat16));
            let results = [1, 2, 3].map(|count| {
                tch::set_num_threads(count);
                let mut out = x.full_like(f64::NAN);
                let done = run(Capability::best(), operator, &x, &bias, &mut out);
                tch::set_num_threads(threads);
                done.unwrap();
                out
            });
            assert!(results[0].isfinite().all().int64_value(&[]) == 1, "{operator:?}");
            assert_eq!(results[0], results[1], "{operator:?} {size:?}");
            assert_eq!(results[0], results[2], "{operator:?} {size:?}");
        }
    }
}

#[test]
fn what_is_not_finite_is_as_atens_in_float64() {
    // (In float32, its oneDNN kernel has NaN for gelu(∞), and ∞ for gelu(3e38).)
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0, 3e38, -3e38, 1e30, -1e30];
    for (operator, float64) in OPERATORS {
        for kind in KINDS {
            let x = Tensor::from_slice(&special).to_kind(kind);
            let bias = x.zeros_like();
            let aten = float64(&x.to_kind(Kind::Double), &bias.to_kind(Kind::Double));
            for capability in Capability::available() {
                let mut out = x.zeros_like();
                run(capability, operator, &x, &bias, &mut out).unwrap();
                let out = out.to_kind(Kind::Double);
                // One over each is the same if the signs of zeros are.
                for (out, aten) in [(&out, &aten), (&out.reciprocal(), &aten.reciprocal())] {
                    let same = out.isclose(aten, 1e-6, 0.0, true).all().int64_value(&[]) == 1;
                    assert!(same, "{operator:?} {capability:?} {kind:?}: {out} and {aten}");
                }
            }
        }
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let x = wave(&[4, 16], Kind::Float);
    let error =
        |x: &Tensor, out: &Tensor| gelu(x, &mut out.shallow_clone()).unwrap_err().to_string();
    let fresh = || x.zeros_like();
    for (text, expected) in [
        (error(&x.to_kind(Kind::Double), &fresh()), "x is Double, where float32, bfloat16"),
        (error(&x, &fresh().to_kind(Kind::Half)), "out is (Cpu, Half, [4, 16])"),
        (error(&x, &fresh().view([64])), "out is (Cpu, Float, [64])"),
        (error(&x.view([16, 4]).tr(), &fresh()), "x is [4, 16] with strides [1, 4]"),
        (error(&x, &fresh().view([16, 4]).tr()), "out is [4, 16] with strides [1, 4]"),
        (
            error(&x.view([2, 2, 16]).transpose(0, 1), &fresh().view([2, 2, 16])),
            "the kernel takes rows one stride apart",
        ),
        (
            error(&x, &fresh().narrow(0, 0, 1).expand([4, 16], false)),
            "the rows of out overlap: they are 0 values apart and 16 long",
        ),
        (error(&x.narrow(0, 0, 3), &x.narrow(0, 1, 3)), "shares memory with"),
    ] {
        assert!(text.contains(expected), "{text}");
    }
    for (bias, expected) in [
        (wave(&[15], Kind::Float), "bias is (Cpu, Float, [15])"),
        (wave(&[16], Kind::Half), "bias is (Cpu, Half, [16])"),
        (wave(&[32], Kind::Float).slice(0, 0, 32, 2), "bias is [16] with strides [2]"),
    ] {
        let text = bias_gelu(&x, &bias, &mut fresh()).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    }
    let mut out = fresh();
    let bias = out.narrow(0, 1, 1).view([16]);
    let text = bias_gelu(&x, &bias, &mut out).unwrap_err().to_string();
    assert!(text.contains("shares memory with"), "{text}");
}
