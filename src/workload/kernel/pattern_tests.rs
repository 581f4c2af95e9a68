use plan::{Dtype, FusionShape, FusionVariant, FusionWork, MemoryFormat, Pattern, PatternFamily};
use tch::Kind;

use super::super::{prepare, testing};
use super::testing::cpu_case;
use super::*;
use crate::inputs;
use crate::native::onednn;

const EPSILON: f64 = 1e-5;

/// The patterns around linear layers and convolutions.
fn patterns() -> impl Iterator<Item = Pattern> {
    let attention = |it: &Pattern| it.family() == PatternFamily::Attention;
    Pattern::ALL.iter().copied().filter(move |it| !attention(it))
}

/// Odd sizes beside round ones.
fn sizes(pattern: Pattern) -> Vec<FusionShape> {
    if pattern.family() == PatternFamily::Linear {
        let sizes = [(1, 17, 33), (3, 64, 128)];
        return sizes.iter().map(|&(m, k, n)| FusionShape::Linear { m, k, n }).collect();
    }
    let image = |b, i, o, s, memory_format| FusionShape::Conv { b, i, o, s, memory_format };
    let all =
        |memory_format| [image(2, 3, 7, 5, memory_format), image(1, 16, 32, 8, memory_format)];
    MemoryFormat::ALL.iter().flat_map(|&memory_format| all(memory_format)).collect()
}

/// Why this CPU refuses the variant; none where it has to pass.
fn constraint(work: &FusionWork, dtype: Dtype) -> Option<String> {
    let with_relu = matches!(work.pattern, Pattern::Conv2dRelu | Pattern::Conv2dBnRelu);
    let scripted = |last: &str| {
        format!(
            "TorchScript runs the same operations as `unfused` here: aten::mm, aten::add, {last}"
        )
    };
    match (work.variant, work.pattern) {
        (FusionVariant::TorchScript, Pattern::LinearBiasRelu) => Some(scripted("aten::relu")),
        (FusionVariant::TorchScript, Pattern::LinearBiasGelu) => Some(scripted("aten::gelu")),
        (FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused | FusionVariant::OnednnGraph, _) => {
            onednn::supports(inputs::kind(dtype)).err()
        }
        (FusionVariant::Fused, _) if with_relu => onednn::supports(inputs::kind(dtype)).err(),
        _ => None,
    }
}

#[test]
fn every_variant_passes_its_check_or_is_refused_as_written() {
    for pattern in patterns() {
        for (&variant, size) in pattern
            .variants()
            .iter()
            .flat_map(|variant| sizes(pattern).into_iter().map(move |size| (variant, size)))
        {
            for &dtype in Dtype::ALL {
                let work = FusionWork { pattern, variant, compile: None, size };
                let what = format!("{pattern} {variant} {size} {dtype}");
                let expected = constraint(&work, dtype).map(|constraint| {
                    let whose = format!("pattern `{pattern}`, variant `{variant}`: ");
                    Refusal::Unsupported(whose + &constraint)
                });
                match prepare(&cpu_case(work, dtype)) {
                    Ok(workload) => {
                        assert_eq!(None, expected, "{what}");
                        passes(&what, &work, dtype, &*workload);
                    }
                    // Libtorch gives oneDNN's graph float32 and bfloat16 alone, also on a CPU where oneDNN has float16.
                    Err(refusal) if expected.is_none() && dtype == Dtype::Float16 => {
                        let said = refusal.to_string();
                        assert_eq!(variant, FusionVariant::OnednnGraph, "{what}: {said}");
                        assert!(
                            said.contains("oneDNN Graph fuses nothing here: "),
                            "{what}: {said}"
                        );
                    }
                    Err(refusal) => assert_eq!(Some(refusal), expected, "{what}"),
                }
            }
        }
    }
}

fn passes(what: &str, work: &FusionWork, dtype: Dtype, workload: &dyn Workload) {
    let accuracy = workload.check().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(accuracy.sqnr_db.0 >= accuracy.min_sqnr_db, "{what}");
    assert!(accuracy.min_sqnr_db > 30.0, "{what}: a gate that stops nothing");
    let output = workload.step().unwrap();
    assert_eq!((output.kind(), output.device()), (inputs::kind(dtype), tch::Device::Cpu), "{what}");
    let size: Vec<_> = output.size().into_iter().map(i64::cast_unsigned).collect();
    assert_eq!(size, work.output_size(), "{what}");
    assert_eq!(workload.inputs_bytes(), work.input_elements() * dtype.bytes(), "{what}");
    if let (FusionVariant::Folded, FusionShape::Conv { i, o, .. }) = (work.variant, work.size) {
        // Folding leaves filters and a bias of the five tensors.
        let stored = (o * i * 9 + o) * dtype.bytes();
        assert_eq!(workload.weights_bytes(), stored, "{what}");
    }
    if work.variant == FusionVariant::Unfused {
        assert_eq!(workload.weights_bytes(), work.parameter_elements() * dtype.bytes(), "{what}");
    }
    testing::computes_the_same_elsewhere(what, workload);
}

/// Checks `wrong`, an output that was computed another way from the case's inputs.
fn judged(
    pattern: Pattern,
    size: FusionShape,
    dtype: Dtype,
    wrong: impl Fn(&[&Tensor]) -> Tensor,
) -> Result<Accuracy, Refusal> {
    let work = FusionWork { pattern, variant: FusionVariant::Unfused, compile: None, size };
    let case = cpu_case(work, dtype);
    let inputs = context(&case, work, tch::Device::Cpu).inputs().unwrap();
    let tensors: Vec<_> = inputs.examples.iter().chain(&inputs.parameters).collect();
    // In float64, so that nothing but the mistake counts, then rounded as every output is.
    let double: Vec<_> = tensors.iter().map(|tensor| tensor.to_kind(Kind::Double)).collect();
    let output = wrong(&double.iter().collect::<Vec<_>>()).to_kind(inputs::kind(dtype));
    let step = Step::new::<Refusal>(&["test"], move || Ok(output.shallow_clone()));
    Kernel { step, ..super::prepare(&case, work).unwrap() }.check()
}

fn inaccurate(judged: Result<Accuracy, Refusal>) -> bool {
    matches!(judged, Err(Refusal::Failed(text)) if text.starts_with("inaccurate: "))
}

const LINEAR: FusionShape = FusionShape::Linear { m: 128, k: 512, n: 256 };

#[test]
fn a_linear_layer_without_its_bias_or_activation_is_stopped() {
    for &dtype in Dtype::ALL {
        let sum = |t: &[&Tensor]| t[0].matmul(&t[1].tr()) + t[2];
        let product = |t: &[&Tensor]| t[0].matmul(&t[1].tr());
        let of =
            |pattern, wrong: &dyn Fn(&[&Tensor]) -> Tensor| judged(pattern, LINEAR, dtype, wrong);
        // The right thing, computed the same way, passes.
        assert!(of(Pattern::LinearBias, &sum).is_ok());
        assert!(of(Pattern::LinearBiasRelu, &|t| sum(t).relu()).is_ok());
        assert!(of(Pattern::LinearBiasGelu, &|t| sum(t).gelu("none")).is_ok());

        assert!(inaccurate(of(Pattern::LinearBias, &product)), "{dtype}");
        assert!(inaccurate(of(Pattern::LinearBiasRelu, &|t| product(t).relu())), "{dtype}");
        assert!(inaccurate(of(Pattern::LinearBiasGelu, &|t| product(t).gelu("none"))), "{dtype}");
        assert!(inaccurate(of(Pattern::LinearBiasRelu, &sum)), "{dtype}");
        assert!(inaccurate(of(Pattern::LinearBiasGelu, &sum)), "{dtype}");
        assert!(inaccurate(of(Pattern::LinearBiasGelu, &|t| sum(t).relu())), "{dtype}");
    }
}

/// 74 dB lie between the two forms: in float32 an error, in half precision less than the roundings,
/// so that no gate of those dtypes tells them apart. Which one is called does not depend on the dtype.
#[test]
fn the_approximation_of_gelu_is_stopped_in_float32() {
    let tanh = |t: &[&Tensor]| (t[0].matmul(&t[1].tr()) + t[2]).gelu("tanh");
    let of = |dtype| judged(Pattern::LinearBiasGelu, LINEAR, dtype, tanh);
    assert!(inaccurate(of(Dtype::Float32)));
    for dtype in [Dtype::BFloat16, Dtype::Float16] {
        assert!(of(dtype).is_ok(), "{dtype}");
    }
}

/// x, filters, weight, bias, mean and variance; each as a channel of an image.
fn normalized(
    t: &[&Tensor],
    weight: &Tensor,
    bias: &Tensor,
    mean: &Tensor,
    variance: &Tensor,
) -> Tensor {
    let channel = |tensor: &Tensor| tensor.reshape([1, -1, 1, 1]);
    let y = t[0].conv2d(t[1], None::<Tensor>, [1, 1], [1, 1], [1, 1], 1);
    let deviation = (variance + EPSILON).sqrt();
    (y - channel(mean)) / channel(&deviation) * channel(weight) + channel(bias)
}

/// Upstream compares no outputs, and its normalization does nothing: weight 1, bias 0, mean 0 and
/// variance 1. With those a fold that forgets any of the four would pass.
#[test]
fn upstream_defect_5_a_fold_that_forgets_a_statistic_is_stopped() {
    for &memory_format in MemoryFormat::ALL {
        let size = FusionShape::Conv { b: 2, i: 16, o: 24, s: 14, memory_format };
        for &dtype in Dtype::ALL {
            for (pattern, relu) in [(Pattern::Conv2dBn, false), (Pattern::Conv2dBnRelu, true)] {
                let of = |wrong: &dyn Fn(&[&Tensor]) -> Tensor| {
                    judged(pattern, size, dtype, |t| match relu {
                        true => wrong(t).relu(),
                        false => wrong(t),
                    })
                };
                let (ones, zeros) =
                    (|t: &[&Tensor]| t[2].ones_like(), |t: &[&Tensor]| t[2].zeros_like());
                assert!(of(&|t| normalized(t, t[2], t[3], t[4], t[5])).is_ok());
                let what = format!("{pattern} {dtype} {memory_format}");
                assert!(inaccurate(of(&|t| normalized(t, &ones(t), t[3], t[4], t[5]))), "{what}");
                assert!(inaccurate(of(&|t| normalized(t, t[2], &zeros(t), t[4], t[5]))), "{what}");
                assert!(inaccurate(of(&|t| normalized(t, t[2], t[3], &zeros(t), t[5]))), "{what}");
                assert!(inaccurate(of(&|t| normalized(t, t[2], t[3], t[4], &ones(t)))), "{what}");
            }
        }
    }
}

#[test]
fn a_convolution_without_its_bias_or_relu_is_stopped() {
    let size =
        FusionShape::Conv { b: 2, i: 16, o: 24, s: 14, memory_format: MemoryFormat::Contiguous };
    let conv =
        |t: &[&Tensor], bias: Option<&Tensor>| t[0].conv2d(t[1], bias, [1, 1], [1, 1], [1, 1], 1);
    for &dtype in Dtype::ALL {
        let of =
            |wrong: &dyn Fn(&[&Tensor]) -> Tensor| judged(Pattern::Conv2dRelu, size, dtype, wrong);
        assert!(of(&|t| conv(t, Some(t[2])).relu()).is_ok(), "{dtype}");
        assert!(inaccurate(of(&|t| conv(t, None).relu())), "{dtype}");
        assert!(inaccurate(of(&|t| conv(t, Some(t[2])))), "{dtype}");
    }
}
