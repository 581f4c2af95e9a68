use tch::Device;

use super::*;
use crate::border::tests::wave;
use crate::memory;

const POST_OPS: [PostOp; 3] = [PostOp::None, PostOp::Relu, PostOp::Gelu];

fn composed(linear: &Tensor, post_op: PostOp) -> Tensor {
    match post_op {
        PostOp::None => linear.shallow_clone(),
        PostOp::Relu => linear.relu(),
        PostOp::Gelu => linear.gelu("none"),
    }
}

/// The float dtypes that this CPU has; float32 at least.
fn supported() -> Vec<Kind> {
    let kinds = [Kind::Float, Kind::BFloat16, Kind::Half];
    let supported: Vec<_> = kinds.into_iter().filter(|&kind| supports(kind).is_ok()).collect();
    assert!(supported.contains(&Kind::Float));
    supported
}

/// Against float64: what sums of up to a few hundred products of numbers up to 1 lose in float32, or one rounding of
/// the result to a half-precision format (2⁻⁸ and 2⁻¹¹ relative).
fn assert_near(found: &Tensor, expected: &Tensor, label: &str) {
    let (relative, absolute) = match found.kind() {
        Kind::BFloat16 => (1.0 / 256.0, 1e-3),
        Kind::Half => (1.0 / 2048.0, 1e-3),
        _ => (1e-6, 2e-5),
    };
    assert_eq!(found.size(), expected.size(), "{label}");
    let close = found.to_kind(Kind::Double).allclose(expected, relative, absolute, false);
    let error = (found.to_kind(Kind::Double) - expected).abs().max().double_value(&[]);
    assert!(close, "{label}: off by {error:e}");
}

fn f64_of(tensor: &Tensor) -> Tensor {
    tensor.to_kind(Kind::Double)
}

#[test]
fn the_bounds_tell_the_two_gelus_apart() {
    let x = wave(&[1000], Kind::Double) * 3.0;
    let error = (x.gelu("none") - x.gelu("tanh")).abs().max().double_value(&[]);
    assert!(error > 1e-4, "{error:e}");
}

#[test]
fn linear_layers_equal_the_composition() {
    for kind in supported() {
        let (x, w, b) = (wave(&[2, 9, 40], kind), wave(&[24, 40], kind), wave(&[24], kind));
        let prepared = reorder_linear_weight(&w, 18).expect("prepared");
        assert_eq!((prepared.size(), prepared.kind()), (vec![24, 40], kind));
        for post_op in POST_OPS {
            for bias in [Some(&b), None] {
                let dense_bias = bias.map(f64_of);
                let sum = f64_of(&x).linear(&f64_of(&w), dense_bias.as_ref());
                let expected = composed(&sum, post_op);
                for (weight, how) in [(&w, "plain"), (&prepared, "prepared")] {
                    let label = format!("{kind:?} {post_op:?} {how} bias {}", bias.is_some());
                    let y = linear_pointwise(&x, weight, bias, post_op).expect("computed");
                    assert_eq!(y.kind(), kind, "{label}");
                    assert_near(&y, &expected, &label);
                }
            }
        }
    }
}

#[test]
fn a_prepared_weight_fits_other_batches_too() {
    let w = wave(&[64, 96], Kind::Float);
    let x = wave(&[7, 96], Kind::Float);
    let expected = f64_of(&x).matmul(&f64_of(&w).tr());
    for rows in [1, 7, 4096] {
        let prepared = reorder_linear_weight(&w, rows).expect("prepared");
        let y = linear_pointwise(&x, &prepared, None, PostOp::None).expect("computed");
        assert_near(&y, &expected, &format!("prepared for {rows} rows"));
    }
}

#[test]
fn convolutions_equal_the_composition() {
    let settings = [
        Convolution { padding: [1, 1], stride: [1, 1], dilation: [1, 1], groups: 1 },
        Convolution { padding: [0, 2], stride: [2, 1], dilation: [1, 2], groups: 4 },
    ];
    for kind in supported() {
        for with in &settings {
            let x = wave(&[2, 16, 11, 9], kind);
            let w = wave(&[8, 16 / with.groups, 3, 3], kind);
            let b = wave(&[8], kind);
            let prepared = reorder_convolution_weight(&w, with, [2, 16, 11, 9]).expect("prepared");
            let Convolution { padding, stride, dilation, groups } = *with;
            for post_op in POST_OPS {
                for bias in [Some(&b), None] {
                    let dense_bias = bias.map(f64_of);
                    let (x64, w64) = (f64_of(&x), f64_of(&w));
                    let sum =
                        x64.conv2d(&w64, dense_bias.as_ref(), stride, padding, dilation, groups);
                    let expected = composed(&sum, post_op);
                    for (weight, how) in [(&w, "plain"), (&prepared, "prepared")] {
                        let label =
                            format!("{kind:?} {with:?} {post_op:?} {how} bias {}", bias.is_some());
                        let y = convolution_pointwise(&x, weight, bias, with, post_op)
                            .expect("computed");
                        assert_eq!(y.kind(), kind, "{label}");
                        assert_near(&y, &expected, &label);
                    }
                }
            }
        }
    }
}

#[test]
fn layouts_of_results_are_as_documented() {
    let with = Convolution { padding: [1, 1], stride: [1, 1], dilation: [1, 1], groups: 1 };
    let channels_last = |tensor: &Tensor| tensor.permute([0, 2, 3, 1]).is_contiguous();
    let to_channels_last =
        |tensor: &Tensor| tensor.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
    let x = wave(&[2, 16, 6, 5], Kind::Float);
    let w = wave(&[8, 16, 3, 3], Kind::Float);
    let (last_x, last_w) = (to_channels_last(&x), to_channels_last(&w));
    let prepared = reorder_convolution_weight(&w, &with, [2, 16, 6, 5]).expect("prepared");
    let prepared_last =
        reorder_convolution_weight(&last_w, &with, [2, 16, 6, 5]).expect("prepared");
    let expected = f64_of(&x).conv2d(&f64_of(&w), None::<Tensor>, [1, 1], [1, 1], [1, 1], 1);
    for (x, weight, last, label) in [
        (&x, &w, false, "plain"),
        (&last_x, &w, true, "input"),
        (&x, &last_w, true, "weight"),
        (&last_x, &last_w, true, "both"),
        (&x, &prepared, true, "prepared"),
        (&last_x, &prepared, true, "prepared, input"),
        (&last_x, &prepared_last, true, "prepared from channels-last"),
    ] {
        let y = convolution_pointwise(x, weight, None, &with, PostOp::None).expect("computed");
        assert_eq!((channels_last(&y), y.is_contiguous()), (last, !last), "{label}");
        assert_near(&y, &expected, label);
    }
}

#[test]
fn what_is_not_supported_fails_when_prepared() {
    let with = Convolution { padding: [0, 0], stride: [1, 1], dilation: [1, 1], groups: 1 };
    for kind in [Kind::Float, Kind::BFloat16, Kind::Half, Kind::Double, Kind::Int] {
        let said = supports(kind);
        let linear = reorder_linear_weight(&wave(&[16, 16], kind), 4);
        let convolution =
            reorder_convolution_weight(&wave(&[16, 16, 1, 1], kind), &with, [1, 16, 4, 4]);
        assert_eq!(linear.is_ok(), said.is_ok(), "{kind:?}: {said:?}, {linear:?}");
        assert_eq!(convolution.is_ok(), said.is_ok(), "{kind:?}: {said:?}, {convolution:?}");
    }
    let reason = supports(Kind::Double).expect_err("oneDNN has none");
    assert_eq!(reason, "oneDNN's post-ops take float32, bfloat16 and float16, not Double");
}

fn linear_refusal(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> String {
    linear_pointwise(x, weight, bias, PostOp::None).expect_err("refused").to_string()
}

#[test]
fn what_linear_layers_would_misread_is_refused() {
    let (x, w) = (wave(&[4, 16], Kind::Float), wave(&[8, 16], Kind::Float));
    assert_eq!(
        linear_refusal(&wave(&[4, 15], Kind::Float), &w, None),
        "the input has to be [.., 16], not [4, 15]"
    );
    assert_eq!(
        linear_refusal(&x, &w, Some(&wave(&[16], Kind::Float).slice(0, 0, 16, 2))),
        "the bias has to be 8 values in a row, not [8] with strides [2]"
    );
    assert_eq!(
        linear_refusal(&x, &w, Some(&wave(&[8], Kind::BFloat16))),
        "the bias is BFloat16 and the weight Float"
    );
    assert_eq!(
        linear_refusal(&x.to_kind(Kind::BFloat16), &w, None),
        "the input is BFloat16 and the weight Float"
    );
    assert_eq!(
        linear_refusal(&x, &wave(&[8, 16, 1, 1], Kind::Float), None),
        "the weight has to be [outputs, inputs], not [8, 16, 1, 1]"
    );
    assert_eq!(
        linear_refusal(&x.to_mkldnn(), &w, None),
        "the input has to be a dense tensor on the CPU, not Mkldnn on cpu"
    );
    let trained = w.set_requires_grad(true);
    assert!(linear_refusal(&x, &trained, None).contains("no gradient"));
    let ungraded = tch::no_grad(|| linear_pointwise(&x, &trained, None, PostOp::None));
    assert!(!ungraded.expect("no gradient is asked for").requires_grad());
}

#[test]
fn what_convolutions_would_misread_is_refused() {
    let good = Convolution { padding: [1, 1], stride: [1, 1], dilation: [1, 1], groups: 1 };
    let (x, w) = (wave(&[2, 16, 6, 6], Kind::Float), wave(&[8, 16, 3, 3], Kind::Float));
    let refusals = [
        (Convolution { stride: [1, 0], ..good }, "a stride of 0"),
        (Convolution { padding: [-1, 1], ..good }, "a padding of -1"),
        (Convolution { dilation: [0, 1], ..good }, "a dilation of 0"),
        (Convolution { groups: 3, ..good }, "8 output channels in 3 groups"),
        (Convolution { groups: 0, ..good }, "8 output channels in 0 groups"),
        (
            Convolution { groups: 2, ..good },
            "the input has to be [batch, 32, height, width], not [2, 16, 6, 6]",
        ),
    ];
    for (with, message) in refusals {
        let run = convolution_pointwise(&x, &w, None, &with, PostOp::Relu);
        assert_eq!(run.expect_err("refused").to_string(), message);
        let reorder = reorder_convolution_weight(&w, &with, [2, 16, 6, 6]);
        assert_eq!(reorder.expect_err("refused").to_string(), message);
    }
    let image = convolution_pointwise(&x.select(0, 0), &w, None, &good, PostOp::Relu);
    let message = image.expect_err("refused").to_string();
    assert_eq!(message, "the input has to be [batch, 16, height, width], not [16, 6, 6]");
    let twice = reorder_linear_weight(&w.reshape([8, -1]), 4).expect("prepared");
    let error = reorder_linear_weight(&twice, 4).expect_err("prepared already").to_string();
    assert_eq!(error, "the weight has to be a dense tensor on the CPU, not Mkldnn on cpu");
}

#[test]
fn nothing_leaks() {
    let (x, w, b) =
        (wave(&[32, 64], Kind::Float), wave(&[64, 64], Kind::Float), wave(&[64], Kind::Float));
    let ((), report) = memory::track(|| {
        for _ in 0..10 {
            let y = linear_pointwise(&x, &w, Some(&b), PostOp::Gelu).expect("computed");
            assert_eq!(y.device(), Device::Cpu);
        }
    })
    .expect("nothing else tracks");
    assert!(report.cpu.total_bytes >= 10 * 32 * 64 * 4, "{report:?}");
    assert_eq!(report.cpu.live_bytes, 0, "{report:?}");
}
