//! Worked examples, and what must hold at every size.

use super::*;
use crate::catalogue::pattern::{MemoryFormat, PatternFamily};
use crate::catalogue::reduction;

const DEVICES: [Device; 2] = [Device::Cpu, Device::Cuda];

fn work(pattern: Pattern, variant: FusionVariant, size: FusionShape) -> FusionWork {
    FusionWork { pattern, variant, compile: None, size }
}

fn linear(m: u64, k: u64, n: u64) -> FusionShape {
    FusionShape::Linear { m, k, n }
}

fn conv(b: u64, i: u64, o: u64, s: u64) -> FusionShape {
    FusionShape::Conv { b, i, o, s, memory_format: MemoryFormat::ChannelsLast }
}

fn attention(b: u64, heads: u64, s: u64, d: u64, causal: bool) -> FusionShape {
    FusionShape::Attention { b, s, d, heads, causal }
}

/// A size of a pattern's family from four numbers and a flag.
fn size(family: PatternFamily, [a, b, c, d]: [u64; 4], flag: bool) -> FusionShape {
    match family {
        PatternFamily::Linear => linear(a, b, c),
        PatternFamily::Conv => conv(a, b, c, d),
        PatternFamily::Attention => attention(a, b, c, d, flag),
    }
}

/// Names and, in bytes, what each operation reads and writes.
fn operations(work: FusionWork, dtype: Dtype, device: Device) -> Vec<(&'static str, u64, u64)> {
    let operations = work.operations(dtype, device).expect("a variant of the pattern");
    operations.into_iter().map(|it| (it.name, it.reads, it.writes)).collect()
}

/// x of 3·5 = 15 elements, weight of 35, bias of 7, y of 21.
#[test]
fn linear_operations_of_the_worked_example() {
    use FusionVariant::{Addmm, Fused, Inplace, Mkldnn, TorchScript, Unfused};
    let on = |variant, device| {
        let work = work(Pattern::LinearBiasGelu, variant, linear(3, 5, 7));
        operations(work, Dtype::BFloat16, device)
    };
    let (mm, addmm) = (("aten::mm", 100, 42), ("aten::addmm", 114, 42));
    let unfused = vec![mm, ("aten::add", 56, 42), ("aten::gelu", 42, 42)];
    let in_place = vec![mm, ("aten::add_", 56, 42), ("aten::gelu_", 42, 42)];
    assert_eq!(on(Unfused, Device::Cpu), unfused);
    assert_eq!(on(Inplace, Device::Cuda), in_place);
    assert_eq!(on(Fused, Device::Cpu), [addmm, ("aten::gelu_", 42, 42)]);
    assert_eq!(on(Fused, Device::Cuda), [("aten::_addmm_activation", 114, 42)]);
    assert_eq!(on(Addmm, Device::Cuda), [addmm, ("aten::gelu", 42, 42)]);
    assert_eq!(on(Mkldnn, Device::Cpu), [("mkldnn::_linear_pointwise", 114, 42)]);
    assert_eq!(on(TorchScript, Device::Cpu), unfused, "nothing is fused there");
    assert_eq!(on(TorchScript, Device::Cuda), [mm, ("prim::TensorExprGroup", 56, 42)]);
    let of_bias = work(Pattern::LinearBias, Fused, linear(3, 5, 7));
    assert_eq!(operations(of_bias, Dtype::Float32, Device::Cuda), [("aten::addmm", 228, 84)]);
}

/// x of 2·3·4·4 = 96 elements, filters of 5·3·9 = 135, bias of 5, statistics of 20, y of 160.
#[test]
fn conv_operations_of_the_worked_example() {
    use FusionVariant::{Folded, Fused, Inplace, Mkldnn, Unfused};
    let on = |pattern, variant, device| {
        operations(work(pattern, variant, conv(2, 3, 5, 4)), Dtype::Float32, device)
    };
    let (with_bias, without) = (4 * (96 + 135 + 5), 4 * (96 + 135));
    let conv2d = ("aten::conv2d", with_bias, 640);
    let norm = ("aten::batch_norm", 720, 640);
    let (relu, in_place) = (("aten::relu", 640, 640), ("aten::relu_", 640, 640));
    let pointwise = ("mkldnn::_convolution_pointwise", with_bias, 640);
    let on_cpu = |pattern, variant| on(pattern, variant, Device::Cpu);
    assert_eq!(on_cpu(Pattern::Conv2dRelu, Unfused), [conv2d, relu]);
    assert_eq!(on_cpu(Pattern::Conv2dRelu, Inplace), [conv2d, in_place]);
    assert_eq!(on_cpu(Pattern::Conv2dRelu, Fused), [pointwise]);
    let on_cuda = on(Pattern::Conv2dRelu, Fused, Device::Cuda);
    assert_eq!(on_cuda, [("aten::cudnn_convolution_relu", with_bias, 640)]);
    let unbiased = ("aten::conv2d", without, 640);
    assert_eq!(on_cpu(Pattern::Conv2dBn, Unfused), [unbiased, norm]);
    assert_eq!(on_cpu(Pattern::Conv2dBn, Fused), [conv2d]);
    assert_eq!(on_cpu(Pattern::Conv2dBnRelu, Inplace), [unbiased, norm, in_place]);
    assert_eq!(on_cpu(Pattern::Conv2dBnRelu, Folded), [conv2d, relu]);
    assert_eq!(on_cpu(Pattern::Conv2dBnRelu, Mkldnn), [pointwise]);
}

/// Two sequences of three heads, four tokens of five features: Q of 120 elements, 96 scores, a mask
/// of 16.
#[test]
fn attention_operations_of_the_worked_example() {
    use FusionVariant::{Baddbmm, Fused, Inplace, SdpaFlash, TorchScript, Unfused};
    let on = |pattern, variant, causal, device| {
        operations(work(pattern, variant, attention(2, 3, 4, 5, causal)), Dtype::Float32, device)
    };
    let (bmm, mul) = (("aten::bmm", 960, 384), ("aten::mul", 384, 384));
    let (softmax, of_v) = (("aten::softmax", 384, 384), ("aten::bmm", 864, 480));
    let add = ("aten::add", 448, 384);
    let cpu = Device::Cpu;
    let full = Pattern::FullAttention;
    assert_eq!(on(full, Unfused, false, cpu), [bmm, mul, softmax, of_v]);
    assert_eq!(on(full, Unfused, true, cpu), [bmm, mul, add, softmax, of_v]);
    let baddbmm = |reads| ("aten::baddbmm", reads, 384);
    assert_eq!(on(full, Baddbmm, false, cpu), [baddbmm(960), softmax, of_v], "beta is 0");
    assert_eq!(on(full, Baddbmm, true, cpu), [baddbmm(1024), softmax, of_v]);
    for causal in [false, true] {
        let flash = ("aten::_scaled_dot_product_flash_attention_for_cpu", 1440, 480);
        assert_eq!(on(full, SdpaFlash, causal, cpu), [flash], "a flag, no mask");
    }
    assert_eq!(on(Pattern::QkScores, Fused, false, cpu), [baddbmm(960)]);
    assert_eq!(on(Pattern::QkSoftmax, Fused, false, cpu), [baddbmm(960), softmax]);
    let in_place = [bmm, ("aten::mul_", 384, 384), ("aten::add_", 448, 384), softmax];
    assert_eq!(on(Pattern::QkSoftmax, Inplace, true, cpu), in_place);
    let script = |causal, device| on(Pattern::QkSoftmax, TorchScript, causal, device);
    assert_eq!(script(true, cpu), [bmm, mul, add, softmax], "nothing is fused there");
    assert_eq!(script(false, Device::Cuda), [bmm, mul, softmax], "one operation is no group");
    assert_eq!(script(true, Device::Cuda), [bmm, ("prim::TensorExprGroup", 448, 384), softmax]);
}

#[test]
fn the_composite_of_sdpa_in_the_worked_example() {
    let composite = |variant, causal, dtype| {
        let work = work(Pattern::FullAttention, variant, attention(2, 3, 4, 5, causal));
        operations(work, dtype, Device::Cpu)
    };
    let (scale, bmm) = (("aten::mul", 480, 480), ("aten::bmm", 960, 384));
    let safe_softmax = [
        ("aten::softmax", 384, 384),
        ("aten::isneginf", 384, 96),
        ("aten::all", 96, 24),
        ("aten::where", 24 + 384, 384),
    ];
    let of_v = ("aten::bmm", 864, 480);
    let in_float32 = [&[scale, scale, bmm][..], &safe_softmax, &[of_v]].concat();
    for variant in [FusionVariant::Sdpa3d, FusionVariant::SdpaMath] {
        assert_eq!(composite(variant, false, Dtype::Float32), in_float32);
    }
    let widen = ("aten::_to_copy", 240, 480);
    let mask = [("aten::ones", 0, 16), ("aten::tril", 16, 16), ("aten::where", 16, 64)];
    let causal_in_half = [
        &[widen, widen, widen, scale][..],
        &mask,
        &[scale, bmm, ("aten::add_", 448, 384)],
        &safe_softmax,
        &[("aten::_to_copy", 384, 192), of_v, ("aten::_to_copy", 480, 240)],
    ];
    let half = composite(FusionVariant::SdpaMath, true, Dtype::Float16);
    assert_eq!(half, causal_in_half.concat());
}

#[test]
fn consistent_bytes_of_the_worked_examples() {
    let bytes = |pattern, variant, size| {
        work(pattern, variant, size).bytes(Dtype::Float32, Device::Cpu).expect("of the pattern")
    };
    let unfused = FusionVariant::Unfused;
    // Upstream leaves reads out: there are five and six times the scores, not four and three.
    let (q, scores) = (4 * 256 * 64, 4 * 256 * 256);
    let size = attention(4, 1, 256, 64, false);
    assert_eq!(bytes(Pattern::QkScores, unfused, size), 4 * (2 * q + 3 * scores));
    assert_eq!(bytes(Pattern::QkSoftmax, unfused, size), 4 * (2 * q + 5 * scores));
    assert_eq!(bytes(Pattern::FullAttention, unfused, size), 4 * (4 * q + 6 * scores));
    // The mask is added to every score, and read once.
    let causal = attention(4, 1, 256, 64, true);
    let masked = 4 * (4 * q + 8 * scores + 256 * 256);
    assert_eq!(bytes(Pattern::FullAttention, unfused, causal), masked);
    // Heads are more sequences.
    let headed = attention(2, 2, 256, 64, false);
    assert_eq!(bytes(Pattern::FullAttention, unfused, headed), 4 * (4 * q + 6 * scores));
    // Upstream's account is consistent for linear patterns, and for normalized ones but for
    // statistics.
    let work = work(Pattern::LinearBiasRelu, unfused, linear(128, 512, 512));
    assert_eq!(work.bytes(Dtype::Float32, Device::Cpu), work.upstream_bytes(Dtype::Float32));
    let normalized = 4_964_352 + 4 * 4 * 64;
    assert_eq!(bytes(Pattern::Conv2dBnRelu, unfused, conv(1, 64, 64, 56)), normalized);
}

#[test]
fn sizes_of_inputs_and_outputs() {
    let of = |pattern, size| work(pattern, FusionVariant::Unfused, size);
    let shapes = |pattern, size| {
        let work = of(pattern, size);
        (work.input_shape(), work.output_shape(), work.output_size())
    };
    let expected = (vec![3, 5, 7], vec![3, 7], vec![3, 7]);
    assert_eq!(shapes(Pattern::LinearBias, linear(3, 5, 7)), expected);
    let expected = (vec![2, 3, 4, 4], vec![2, 5, 4, 4], vec![2, 5, 4, 4]);
    assert_eq!(shapes(Pattern::Conv2dBn, conv(2, 3, 5, 4)), expected);
    let one_head = attention(2, 1, 4, 5, false);
    let expected = (vec![2, 4, 5], vec![2, 4, 4], vec![2, 1, 4, 4]);
    assert_eq!(shapes(Pattern::QkSoftmax, one_head), expected);
    let expected = (vec![2, 4, 5], vec![2, 4, 5], vec![2, 1, 4, 5]);
    assert_eq!(shapes(Pattern::FullAttention, one_head), expected);
    let three = attention(2, 3, 4, 5, true);
    let expected = (vec![2, 3, 4, 5], vec![2, 3, 4, 4], vec![2, 3, 4, 4]);
    assert_eq!(shapes(Pattern::QkScores, three), expected);
    let elements = |pattern, size| {
        let counts = of(pattern, size).counts();
        (sum(&counts.inputs), sum(&counts.parameters))
    };
    assert_eq!(elements(Pattern::LinearBias, linear(3, 5, 7)), (15, 42));
    assert_eq!(elements(Pattern::Conv2dRelu, conv(2, 3, 5, 4)), (96, 140));
    assert_eq!(elements(Pattern::Conv2dBnRelu, conv(2, 3, 5, 4)), (96, 155));
    assert_eq!(elements(Pattern::QkScores, one_head), (80, 0));
    assert_eq!(elements(Pattern::FullAttention, three), (360, 16));
}

#[test]
fn memory_of_the_worked_example() {
    // x of 15, weight of 35, bias of 7, y of 21; bfloat16.
    let work = work(Pattern::LinearBias, FusionVariant::Unfused, linear(3, 5, 7));
    let prepared = (8 + 2) * 42;
    let running = prepared + 2 * (21 + 21) + 2 * 57;
    // x, the product and y in float64 are 456 bytes; comparing y takes more.
    let reference = 28 * 21;
    assert_eq!(work.memory_bytes(Dtype::BFloat16), 2 * 57 + running + reference);
    // For a device the host draws the weight, then has the parameters in float64, too.
    assert_eq!(work.host_bytes(Dtype::BFloat16), 2 * 35 + 8 * 42 + reference);
    assert_eq!(work.host_bytes(Dtype::Float32), 4 * 35 + 8 * 42 + reference);
}

/// One sequence of 16 heads, 4096 tokens of 128 features: the scores of all in float64 are 2 GiB,
/// those of a head 128 MiB, and there are three results of them.
#[test]
fn the_reference_of_attention_has_four_heads_at_least() {
    let size = attention(1, 16, 4096, 128, false);
    let work = work(Pattern::FullAttention, FusionVariant::Fused, size);
    assert_eq!(work.parts(), 16);
    let (q, scores) = (8 * 4096 * 128, 8 * 4096 * 4096);
    let reference = 4 * (4 * q + 3 * scores);
    let largest = 16 * 4096 * 128;
    assert_eq!(work.host_bytes(Dtype::BFloat16), 2 * largest + reference);
    let drawing = 4 * largest;
    let running = 2 * largest + 2 * 3 * largest;
    assert!(running > drawing);
    assert_eq!(work.memory_bytes(Dtype::BFloat16), 2 * 3 * largest + running + reference);
}

#[test]
fn the_reference_is_bounded_but_for_one_image() {
    let memory = |b, s| {
        let work = work(Pattern::Conv2dRelu, FusionVariant::Fused, conv(b, 64, 64, s));
        // Without what grows with the case itself: x, its copies for 9 places and y, in float32.
        let (x, parameters) = (b * 64 * s * s, 64 * 64 * 9 + 64);
        let held = 4 * (x + parameters);
        let running = 12 * parameters + 4 * x + 4 * (11 * x + parameters);
        work.memory_bytes(Dtype::Float32) - held - running
    };
    assert_eq!(memory(64, 56), 448 << 20);
    let x = 64 * 1024 * 1024;
    let image = 8 * (11 * x + 2 * x);
    assert_eq!(memory(1, 1024), image);
    assert!(image > 448 << 20);
}

#[test]
fn what_is_no_work_has_no_operations() {
    let numbers = [2, 3, 4, 5];
    for &pattern in Pattern::ALL {
        for &variant in FusionVariant::ALL {
            let has = pattern.variants().contains(&variant);
            let work = work(pattern, variant, size(pattern.family(), numbers, true));
            for device in DEVICES {
                let operations = work.operations(Dtype::Float32, device);
                assert_eq!(operations.is_some(), has, "{pattern} {variant}");
                assert!(operations.is_none_or(|operations| !operations.is_empty()));
                assert_eq!(work.bytes(Dtype::Float32, device).is_some(), has);
            }
            assert!(has || work.upstream_bytes(Dtype::Float32).is_none(), "{pattern} {variant}");
        }
        for &family in PatternFamily::ALL.iter().filter(|&&family| family != pattern.family()) {
            let strange = work(pattern, FusionVariant::Unfused, size(family, numbers, false));
            assert_eq!(strange.operations(Dtype::Float32, Device::Cpu), None);
            assert_eq!(strange.upstream_bytes(Dtype::Float32), None);
            assert_eq!((strange.flops(), strange.memory_bytes(Dtype::Float32)), (0, 0));
            assert_eq!((strange.host_bytes(Dtype::Float32), strange.output_size()), (0, vec![]));
        }
    }
}

#[test]
fn a_reduction_is_a_part_of_the_baseline() {
    assert_eq!(reduction(100, 75), Some(0.25));
    assert_eq!(reduction(100, 125), Some(-0.25));
    assert_eq!(reduction(0, 5), None);
}

/// 256 sizes with flags and dtypes, the same in every run: small ones, such as overflow, and ones alone.
fn drawn() -> impl Iterator<Item = ([u64; 4], bool, Dtype)> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut draw = move || {
        let dimension = |random: &mut fastrand::Rng| match random.u8(0..5) {
            0 => random.u64(1 << 20..),
            _ => random.u64(1..300),
        };
        let numbers = std::array::from_fn(|_| dimension(&mut random));
        (numbers, random.bool(), Dtype::ALL[random.usize(..Dtype::ALL.len())])
    };
    std::iter::once(([1; 4], true, Dtype::Float32)).chain((0..255).map(move |_| draw()))
}

#[test]
fn variants_lie_between_a_perfect_fusion_and_none() {
    for (numbers, causal, dtype) in drawn() {
        for &pattern in Pattern::ALL {
            let at = |variant| work(pattern, variant, size(pattern.family(), numbers, causal));
            for device in DEVICES {
                let bytes = |variant| at(variant).bytes(dtype, device).expect("of the pattern");
                let unfused = bytes(FusionVariant::Unfused);
                for &variant in pattern.variants() {
                    let bytes = bytes(variant);
                    let which = format!("{pattern} {variant} of {numbers:?} {causal} {dtype}");
                    assert!(bytes >= at(variant).minimal_bytes(dtype), "{which}");
                    match variant {
                        FusionVariant::Inplace => assert_eq!(bytes, unfused, "{which}"),
                        // The exception: scaled twice, masked twice.
                        FusionVariant::Sdpa3d | FusionVariant::SdpaMath => {
                            assert!(bytes >= unfused, "{which}");
                        }
                        _ => assert!(bytes <= unfused, "{which}"),
                    }
                }
            }
        }
    }
}

#[test]
fn memory_covers_what_a_step_surely_holds() {
    for (numbers, causal, dtype) in drawn() {
        for &pattern in Pattern::ALL {
            for &variant in pattern.variants() {
                let work = work(pattern, variant, size(pattern.family(), numbers, causal));
                let results = work.written(variant, dtype);
                let counts = work.counts();
                let held = sum(&[sum(&counts.inputs), sum(&counts.parameters)]);
                let surely = dtype.bytes().saturating_mul(held).saturating_add(results);
                let memory = work.memory_bytes(dtype);
                let which = format!("{pattern} {variant} of {numbers:?} {causal} {dtype}");
                assert!(memory >= surely, "{which}");
                assert!(memory >= 4_u64.saturating_mul(counts.largest()), "{which}");
            }
        }
    }
}

#[test]
fn more_of_anything_never_costs_less() {
    for (index, (numbers, _, dtype)) in drawn().enumerate() {
        let mut more = numbers;
        more[index % 4] = more[index % 4].saturating_add(1);
        for &pattern in Pattern::ALL {
            for &variant in pattern.variants() {
                let costs = |numbers| {
                    let work = work(pattern, variant, size(pattern.family(), numbers, true));
                    [
                        work.flops(),
                        work.upstream_bytes(dtype).unwrap_or(0),
                        work.minimal_bytes(dtype),
                        work.bytes(dtype, Device::Cpu).unwrap_or(0),
                        work.host_bytes(dtype),
                    ]
                };
                for (less, more_of_it) in costs(numbers).into_iter().zip(costs(more)) {
                    assert!(less <= more_of_it, "{pattern} {variant}: {numbers:?}, then {more:?}");
                }
            }
        }
    }
}

#[test]
fn a_causal_mask_halves_what_is_computed() {
    for pattern in [Pattern::QkSoftmax, Pattern::FullAttention] {
        let flops =
            |causal| work(pattern, FusionVariant::Unfused, attention(2, 3, 4, 5, causal)).flops();
        assert_eq!(2 * flops(true), flops(false), "{pattern}");
    }
}

#[test]
fn absurd_sizes_saturate() {
    for &pattern in Pattern::ALL {
        for &variant in pattern.variants() {
            let work = work(pattern, variant, size(pattern.family(), [u64::MAX; 4], true));
            assert_eq!(work.flops(), u64::MAX);
            assert_eq!(work.bytes(Dtype::BFloat16, Device::Cuda), Some(u64::MAX));
            assert_eq!(work.minimal_bytes(Dtype::BFloat16), u64::MAX);
            assert_eq!(work.memory_bytes(Dtype::BFloat16), u64::MAX);
            assert_eq!(work.host_bytes(Dtype::BFloat16), u64::MAX);
        }
    }
}
