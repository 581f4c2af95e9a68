use plan::{Device, Dtype, FusionVariant, MemoryFormat, PatternFamily};

use super::*;
use crate::kernel::{Computation, Step};

pub(super) fn context(
    pattern: Pattern,
    variant: FusionVariant,
    size: FusionShape,
    dtype: Dtype,
) -> KernelContext<FusionWork> {
    let work = FusionWork { pattern, variant, compile: None, size };
    let (device, place) = (Device::Cpu, tch::Device::Cpu);
    KernelContext { work, dtype, device, torch_device: place, threads: 1, seed: 7 }
}

pub(super) fn prepared(context: &KernelContext<FusionWork>) -> Result<Step, Refusal> {
    context.check()?;
    context.build(context.inputs()?)
}

pub(super) fn output(context: &KernelContext<FusionWork>) -> Tensor {
    tch::no_grad(|| prepared(context).unwrap().run()).unwrap()
}

pub(super) fn conv(b: u64, i: u64, o: u64, s: u64, memory_format: MemoryFormat) -> FusionShape {
    FusionShape::Conv { b, i, o, s, memory_format }
}

/// All patterns that are built around the family.
fn of_family(family: PatternFamily) -> impl Iterator<Item = Pattern> {
    Pattern::ALL.iter().copied().filter(move |it| it.family() == family)
}

/// Upstream's smallest size, and of attention several heads, causal or not.
fn sizes(family: PatternFamily) -> Vec<FusionShape> {
    let heads = |causal| FusionShape::Attention { b: 2, heads: 3, s: 37, d: 5, causal };
    let more =
        if family == PatternFamily::Attention { vec![heads(false), heads(true)] } else { vec![] };
    let smallest = plan::pattern::sizes(family, plan::SizeSet::Quick)[0];
    [smallest].into_iter().chain(more).collect()
}

/// Every variant of every pattern at these sizes, in every dtype.
fn all() -> impl Iterator<Item = KernelContext<FusionWork>> {
    Pattern::ALL.iter().flat_map(|&pattern| {
        sizes(pattern.family()).into_iter().flat_map(move |size| {
            pattern.variants().iter().flat_map(move |&variant| {
                Dtype::ALL.iter().map(move |&dtype| context(pattern, variant, size, dtype))
            })
        })
    })
}

fn planned(context: &KernelContext<FusionWork>) -> Vec<&'static str> {
    let operations = context.work.operations(context.dtype, context.device);
    operations.expect("the pattern has the variant").iter().map(|it| it.name).collect()
}

#[test]
fn what_runs_is_what_the_plan_counts() {
    let mut compared = 0;
    // For SDPA the plan has the call, or the parts of its composite, and the step the chosen
    // kernel.
    let chosen = |context: &KernelContext<FusionWork>| {
        use FusionVariant::{Fused, Sdpa3d, SdpaMath};
        let variant = matches!(context.work.variant, Fused | Sdpa3d | SdpaMath);
        variant && context.work.pattern == Pattern::FullAttention
    };
    for context in all().filter(|context| !chosen(context)) {
        let Ok(step) = prepared(&context) else { continue };
        // A group comes with what is in it.
        let heads: Vec<&str> =
            step.kernels.iter().filter_map(|kernel| kernel.split('(').next()).collect();
        assert_eq!(heads, planned(&context), "{:?} {}", context.work, context.dtype);
        compared += 1;
    }
    // Without oneDNN's half precision: 26 variants in float32, 18 in each of the others.
    assert!(compared >= 26 + 2 * 18, "{compared} were built");
}

/// Upstream's `Conv2d_ReLU` runs the same code twice, and its TorchScript fuses nothing on a CPU.
#[test]
fn upstream_defect_3_no_variant_runs_the_operations_of_unfused() {
    for context in all().filter(|context| context.work.variant != FusionVariant::Unfused) {
        let unfused = KernelContext {
            work: FusionWork { variant: FusionVariant::Unfused, ..context.work },
            ..context
        };
        let Ok(baseline) = prepared(&unfused) else { continue };
        match prepared(&context) {
            Ok(step) => assert_ne!(step.kernels, baseline.kernels, "{:?}", context.work),
            Err(Refusal::Unsupported(reason)) => {
                // The plan knows it, too.
                let same = planned(&context) == planned(&unfused);
                let said = reason.contains("runs the same operations as `unfused` here");
                assert_eq!(same, said, "{:?}: {reason}", context.work);
            }
            Err(other) => panic!("{:?}: {other}", context.work),
        }
    }
}

#[test]
fn a_script_that_fuses_nothing_is_refused_with_what_it_runs() {
    let size = FusionShape::Linear { m: 4, k: 8, n: 6 };
    for (pattern, last) in
        [(Pattern::LinearBiasRelu, "aten::relu"), (Pattern::LinearBiasGelu, "aten::gelu")]
    {
        let refusal =
            prepared(&context(pattern, FusionVariant::TorchScript, size, Dtype::Float32)).err();
        let reason = format!(
            "pattern `{pattern}`, variant `torchscript`: TorchScript runs the same operations as \
             `unfused` here: aten::mm, aten::add, {last}"
        );
        assert_eq!(refusal, Some(Refusal::Unsupported(reason)));
    }
}

#[test]
fn what_cublaslt_may_refuse_in_silence_is_not_called_fused() {
    let size = FusionShape::Linear { m: 4, k: 8, n: 6 };
    for (variant, device, noted) in [
        (FusionVariant::Fused, Device::Cuda, true),
        (FusionVariant::Fused, Device::Cpu, false),
        (FusionVariant::Addmm, Device::Cuda, false),
    ] {
        let context = KernelContext {
            device,
            ..context(Pattern::LinearBiasRelu, variant, size, Dtype::Float32)
        };
        let Step { notes, .. } = prepared(&context).unwrap();
        let said = notes.iter().any(|note| note.starts_with("not verified to be fused: "));
        assert_eq!(said, noted, "{variant:?} on {device}: {notes:?}");
    }
}

/// A broken constraint is known without the device.
#[test]
fn what_another_device_cannot_do_is_refused() {
    let refused = |pattern, variant, size, device| {
        let context = context(pattern, variant, size, Dtype::Float32);
        KernelContext { device, ..context }.check().err().map(|refusal| refusal.to_string())
    };
    let linear = |m, k, n| FusionShape::Linear { m, k, n };
    let image = conv(1, 3, 4, 8, MemoryFormat::Contiguous);
    let (cuda, fused) = (Device::Cuda, FusionVariant::Fused);
    assert_eq!(
        refused(Pattern::LinearBiasGelu, fused, linear(4, 8, 6), cuda).unwrap(),
        "unsupported: pattern `linear_bias_gelu`, variant `fused`: the GELU of \
         `_addmm_activation` is the tanh approximation on cuda, another function than the exact \
         one of the pattern"
    );
    for (m, k, n) in [(1, 8, 6), (4, 1, 6), (4, 8, 1)] {
        assert_eq!(
            refused(Pattern::LinearBiasRelu, fused, linear(m, k, n), cuda).unwrap(),
            format!(
                "unsupported: pattern `linear_bias_relu`, variant `fused`: the epilogue of \
                 cuBLASLt takes m, k and n from 2 on, not {m}x{k}x{n}"
            )
        );
    }
    assert_eq!(refused(Pattern::LinearBiasRelu, fused, linear(2, 2, 2), cuda), None);
    for pattern in of_family(PatternFamily::Linear) {
        let reason = refused(pattern, FusionVariant::Mkldnn, linear(4, 8, 6), cuda).unwrap();
        assert!(reason.ends_with("with a post-op are for cpu, not cuda"), "{reason}");
    }
    for pattern in of_family(PatternFamily::Conv) {
        let reason = refused(pattern, FusionVariant::Mkldnn, image, cuda).unwrap();
        assert!(reason.ends_with("with a post-op are for cpu, not cuda"), "{reason}");
        assert_eq!(refused(pattern, fused, image, cuda), None);
        let elsewhere = refused(pattern, fused, image, Device::Xpu);
        // A convolution alone is libtorch's own, whatever was folded into it.
        assert_eq!(elsewhere.is_some(), pattern != Pattern::Conv2dBn, "{elsewhere:?}");
    }
    assert_eq!(
        refused(Pattern::LinearBias, FusionVariant::Folded, linear(4, 8, 6), Device::Cpu).unwrap(),
        "unsupported: pattern `linear_bias`, variant `folded`: the pattern has no such variant"
    );
}

/// Strides of NHWC as torch has them, also where a dimension of 1 leaves a choice.
fn is_channels_last(tensor: &Tensor) -> bool {
    let (_, c, h, w) = tensor.size4().unwrap();
    tensor.stride() == [h * w * c, 1, w * c, c]
}

#[test]
fn images_and_filters_lie_as_the_size_says() {
    for pattern in of_family(PatternFamily::Conv) {
        for (i, o) in [(3, 7), (1, 1)] {
            for &memory_format in MemoryFormat::ALL {
                let size = conv(2, i, o, 5, memory_format);
                let context = context(pattern, FusionVariant::Unfused, size, Dtype::BFloat16);
                let inputs = context.inputs().unwrap();
                for tensor in [&inputs.examples[0], &inputs.parameters[0]] {
                    match memory_format {
                        MemoryFormat::Contiguous => assert!(tensor.is_contiguous()),
                        MemoryFormat::ChannelsLast => assert!(is_channels_last(tensor)),
                    }
                }
            }
        }
    }
}

#[test]
fn outputs_of_convolutions_lie_as_their_images_do() {
    for pattern in of_family(PatternFamily::Conv) {
        for &variant in pattern.variants() {
            for &memory_format in MemoryFormat::ALL {
                for &dtype in Dtype::ALL {
                    let context = context(pattern, variant, conv(2, 3, 7, 5, memory_format), dtype);
                    let Ok(step) = prepared(&context) else { continue };
                    let output = tch::no_grad(|| step.run()).unwrap();
                    let contiguous = memory_format == MemoryFormat::Contiguous;
                    let reordered =
                        matches!(variant, FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused);
                    let label = format!("{:?} {dtype}", context.work);
                    assert_eq!(is_channels_last(&output), reordered || !contiguous, "{label}");
                    assert_eq!(output.is_contiguous(), contiguous && !reordered, "{label}");
                    // The notes name the difference.
                    let noted =
                        step.notes.iter().any(|note| note.contains("the output stays in it"));
                    assert_eq!(noted, reordered && contiguous, "{label}");
                    // They also name a kernel other than that of `unfused`.
                    let by_name = step.kernels[0] != "aten::conv2d";
                    let other = step.notes.iter().any(|note| note.contains("channels_last"));
                    assert_eq!(other, by_name && contiguous, "{label}");
                }
            }
        }
    }
}

/// Folded, the four vectors become one; reordered, what oneDNN pads counts.
#[test]
fn parameters_are_counted_as_they_are_stored() {
    let size = conv(1, 3, 7, 5, MemoryFormat::Contiguous);
    let (filters, vector) = (4 * 7 * 3 * 9, 4 * 7);
    for pattern in of_family(PatternFamily::Conv) {
        for &variant in pattern.variants() {
            let context = context(pattern, variant, size, Dtype::Float32);
            let stored = prepared(&context).unwrap().parameter_bytes;
            let folds = pattern != Pattern::Conv2dRelu;
            match variant {
                FusionVariant::Fused | FusionVariant::Folded | FusionVariant::OnednnGraph
                    if folds =>
                {
                    assert_eq!(stored, Some(filters + vector), "{:?}", context.work);
                }
                FusionVariant::MkldnnUnfused if folds => {
                    assert!(stored >= Some(filters + 4 * vector), "{:?}: {stored:?}", context.work);
                }
                FusionVariant::Mkldnn | FusionVariant::MkldnnUnfused => {
                    assert!(stored >= Some(filters + vector), "{:?}: {stored:?}", context.work);
                }
                _ => assert_eq!(stored, None, "{:?}", context.work),
            }
        }
    }
    let linear = FusionShape::Linear { m: 4, k: 64, n: 32 };
    let reordered = context(Pattern::LinearBias, FusionVariant::Mkldnn, linear, Dtype::Float32);
    // Whole blocks: nothing to pad.
    assert_eq!(prepared(&reordered).unwrap().parameter_bytes, Some(4 * (32 * 64 + 32)));
}

/// All variants draw equal numbers, so that they can be compared.
#[test]
fn variants_are_drawn_the_same_inputs() {
    for &pattern in &[Pattern::LinearBiasRelu, Pattern::Conv2dBnRelu] {
        let size = plan::pattern::sizes(pattern.family(), plan::SizeSet::Quick)[0];
        let of = |variant| context(pattern, variant, size, Dtype::Float32).inputs().unwrap();
        let (unfused, fused) = (of(FusionVariant::Unfused), of(FusionVariant::Fused));
        assert_eq!(unfused.examples, fused.examples);
        assert_eq!(unfused.parameters, fused.parameters);
    }
}

#[test]
fn odd_sizes_have_their_outputs() {
    for (m, k, n) in [(1, 17, 33), (1, 1, 1), (5, 33, 2)] {
        for pattern in of_family(PatternFamily::Linear) {
            let size = FusionShape::Linear { m, k, n };
            let y = output(&context(pattern, FusionVariant::Mkldnn, size, Dtype::Float32));
            let expected = output(&context(pattern, FusionVariant::Unfused, size, Dtype::Float32));
            assert_eq!(y.size(), [m, n].map(u64::cast_signed));
            assert!(y.allclose(&expected, 1e-5, 1e-6, false), "{pattern} {size}");
        }
    }
}
