//! The attention patterns, from a case to its check.

use plan::{Device, Dtype, FusionShape, FusionVariant, FusionWork, Pattern};
use tch::Kind;

use super::sampled::rows;
use super::testing::cpu_case;
use super::*;
use crate::inputs;
use crate::native::onednn;
use crate::workload::preflight;

const PATTERNS: [Pattern; 3] = [Pattern::QkScores, Pattern::QkSoftmax, Pattern::FullAttention];
const FLASH: &str = "aten::_scaled_dot_product_flash_attention_for_cpu";
const MATH: &str = "aten::_scaled_dot_product_attention_math";

pub(super) fn size([b, heads, s, d]: [u64; 4], causal: bool) -> FusionShape {
    FusionShape::Attention { b, s, d, heads, causal }
}

pub(super) fn prepare(work: FusionWork, dtype: Dtype) -> Result<Kernel, Refusal> {
    let case = cpu_case(work, dtype);
    preflight(&case)?;
    super::prepare(&case, work)
}

pub(super) fn prepared(
    pattern: Pattern,
    variant: FusionVariant,
    dtype: Dtype,
    size: FusionShape,
) -> Kernel {
    prepare(FusionWork { pattern, variant, compile: None, size }, dtype)
        .expect("a variant that runs on the CPU")
}

/// Every variant of every pattern.
fn works(size: FusionShape) -> impl Iterator<Item = FusionWork> {
    let of = move |pattern: Pattern| {
        let variants = pattern.variants().iter();
        variants.map(move |&variant| FusionWork { pattern, variant, compile: None, size })
    };
    PATTERNS.into_iter().flat_map(of)
}

/// Why the CPU does not run a variant, if it does not.
fn constraint(work: FusionWork, causal: bool, dtype: Dtype) -> Option<String> {
    let said = match (work.pattern, work.variant) {
        (Pattern::QkScores, _) if causal => {
            Some("scores alone have no mask; causal is for what has a softmax")
        }
        (Pattern::QkScores, FusionVariant::TorchScript) => {
            Some("TorchScript runs the same operations as `unfused` here: aten::bmm, aten::mul")
        }
        (Pattern::QkSoftmax, FusionVariant::TorchScript) => Some(if causal {
            "TorchScript runs the same operations as `unfused` here: aten::bmm, aten::mul, \
             aten::add, aten::softmax"
        } else {
            "TorchScript runs the same operations as `unfused` here: aten::bmm, aten::mul, \
             aten::softmax"
        }),
        (_, FusionVariant::SdpaEfficient) => {
            Some("libtorch has memory-efficient attention only on cuda, not on cpu")
        }
        (_, FusionVariant::SdpaCudnn) => {
            Some("libtorch has cuDNN's attention only on cuda, not on cpu")
        }
        (_, FusionVariant::OnednnGraph) => return onednn::supports(inputs::kind(dtype)).err(),
        _ => None,
    };
    said.map(str::to_owned)
}

/// Whether oneDNN has this dtype on this CPU, and its graph leaves it alone: libtorch gives it float32 and bfloat16.
fn is_unfused(variant: FusionVariant, dtype: Dtype) -> bool {
    let is_half = variant == FusionVariant::OnednnGraph && dtype == Dtype::Float16;
    is_half && onednn::supports(inputs::kind(dtype)).is_ok()
}

/// Whether oneDNN Graph gives other numbers on CPUs with AMX (−4.5 dB on a Xeon with AMX), which the check refuses.
fn is_wrong_with_amx(work: FusionWork, causal: bool, dtype: Dtype) -> bool {
    let is_graph = work.variant == FusionVariant::OnednnGraph && causal;
    is_graph && work.pattern == Pattern::QkSoftmax && dtype == Dtype::BFloat16
}

#[test]
fn every_variant_passes_its_check_or_says_why_not() {
    for [b, s, d] in [[2, 37, 5], [3, 1, 8], [2, 64, 16], [1, 2, 300]] {
        for (heads, causal) in [(1, false), (1, true), (3, false), (3, true)] {
            for work in works(size([b, heads, s, d], causal)) {
                for &dtype in Dtype::ALL {
                    let what = format!("{} {} {} {dtype}", work.pattern, work.variant, work.size);
                    let checked = prepare(work, dtype).and_then(|it| it.check());
                    if let Some(constraint) = constraint(work, causal, dtype) {
                        let (pattern, variant) = (work.pattern, work.variant);
                        let text =
                            format!("pattern `{pattern}`, variant `{variant}`: {constraint}");
                        assert_eq!(checked.err(), Some(Refusal::Unsupported(text)), "{what}");
                        continue;
                    }
                    if is_unfused(work.variant, dtype) {
                        let said = checked.err().map(|it| it.to_string()).unwrap_or_default();
                        assert!(
                            said.contains("oneDNN Graph fuses nothing here: "),
                            "{what}: {said}"
                        );
                        continue;
                    }
                    if is_wrong_with_amx(work, causal, dtype) && checked.is_err() {
                        let said = checked.err().map(|it| it.to_string()).unwrap_or_default();
                        assert!(said.starts_with("failed: inaccurate: "), "{what}: {said}");
                        continue;
                    }
                    let accuracy = checked.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_eq!(accuracy.rows_checked, b * heads, "{what}");
                }
            }
        }
    }
}

#[test]
fn outputs_have_the_size_of_the_pattern_and_share_no_operand() {
    for work in works(size([2, 3, 37, 5], false)) {
        let Ok(it) = prepare(work, Dtype::Float32) else { continue };
        let (first, second) = (it.step().expect("runs"), it.step().expect("runs"));
        let expected: Vec<_> = work.output_size().iter().map(|it| it.cast_signed()).collect();
        assert_eq!(first.size(), expected, "{work:?}");
        assert_ne!(first.data_ptr(), second.data_ptr(), "{work:?}");
        assert_eq!(first, second, "{work:?}: a step changed its operands");
    }
}

/// branes-ai/graphs calls SDPA with three dimensions, which on a CPU take the composite, and then
/// publishes that fused attention is slower than unfused.
#[test]
fn upstream_defect_1_sdpa_in_three_dimensions_is_the_composite_and_fused_has_four() {
    for &dtype in Dtype::ALL {
        for (heads, causal) in [(1, false), (1, true), (3, false), (3, true)] {
            let size = size([2, heads, 64, 16], causal);
            let it = |variant| prepared(Pattern::FullAttention, variant, dtype, size);
            let (fused, three) = (it(FusionVariant::Fused), it(FusionVariant::Sdpa3d));
            assert_eq!((fused.kernels(), three.kernels()), (vec![FLASH.into()], vec![MATH.into()]));
            // And that is what runs: to the last bit what the kernels called by name give.
            let same = |a: &Kernel, b: &Kernel| a.step().expect("runs") == b.step().expect("runs");
            let (flash, math) = (it(FusionVariant::SdpaFlash), it(FusionVariant::SdpaMath));
            assert!(same(&fused, &flash) && same(&three, &math), "{dtype} {size}");
            assert!(!same(&fused, &three), "{dtype} {size}");
        }
    }
}

#[test]
fn a_causal_token_attends_to_itself_and_earlier_ones() {
    for &dtype in Dtype::ALL {
        for work in works(size([2, 3, 37, 5], true)) {
            let Ok(it) = prepare(work, dtype) else { continue };
            if is_wrong_with_amx(work, true, dtype) && it.check().is_err() {
                continue;
            }
            let output = it.step().expect("runs");
            if work.pattern == Pattern::FullAttention {
                let [_, _, v] = &drawn(work, dtype).examples[..] else { panic!("Q, K and V") };
                assert_eq!(output.select(2, 0), v.select(2, 0), "{work:?} {dtype}");
            } else {
                let later = output.triu(1).to_kind(Kind::Double).abs().max().double_value(&[]);
                assert!(later == 0.0, "{work:?} {dtype}: {later}");
                let first = output.select(2, 0).select(2, 0).to_kind(Kind::Double);
                assert_eq!(first, first.ones_like(), "{work:?} {dtype}");
            }
        }
    }
}

/// Draws the inputs that `prepare` draws.
fn drawn(work: FusionWork, dtype: Dtype) -> Inputs {
    context(&cpu_case(work, dtype), work, tch::Device::Cpu).inputs().expect("small")
}

/// Checks a pattern that lacks one part.
fn broken(
    work: FusionWork,
    dtype: Dtype,
    wrong: impl Fn(&[Tensor], f64) -> Tensor + 'static,
) -> Result<Accuracy, Refusal> {
    let FusionShape::Attention { d, .. } = work.size else { panic!("{work:?}") };
    let (examples, scale) = (drawn(work, dtype).examples, (d as f64).sqrt().recip());
    let step = Step::new::<Refusal>(&["broken"], move || Ok(wrong(&examples, scale)));
    Kernel { step, ..prepare(work, dtype).expect("unfused") }.check()
}

#[test]
fn forgetting_a_part_fails_the_check() {
    // With as many tokens as features, a K that is not transposed fits.
    let causal = size([2, 3, 16, 16], true);
    let (all, whole) = (size([2, 3, 16, 16], false), |pattern, size| FusionWork {
        pattern,
        variant: FusionVariant::Unfused,
        compile: None,
        size,
    });
    let softmax = |scores: Tensor| scores.softmax(-1, None::<Kind>);
    for &dtype in Dtype::ALL {
        let fails = |what: &str, checked: Result<Accuracy, Refusal>| {
            let inaccurate =
                matches!(&checked, Err(Refusal::Failed(text)) if text.starts_with("inaccurate"));
            assert!(inaccurate, "{what} {dtype}: {checked:?}");
        };
        for pattern in PATTERNS {
            let finish = move |scores: Tensor, qkv: &[Tensor]| match pattern {
                Pattern::QkScores => scores,
                Pattern::QkSoftmax => softmax(scores),
                _ => softmax(scores).matmul(&qkv[2]),
            };
            let right = move |qkv: &[Tensor], scale: f64| {
                finish(qkv[0].matmul(&qkv[1].transpose(-2, -1)) * scale, qkv)
            };
            broken(whole(pattern, all), dtype, right).expect("the whole pattern");
            let unscaled =
                move |qkv: &[Tensor], _| finish(qkv[0].matmul(&qkv[1].transpose(-2, -1)), qkv);
            fails("the scale", broken(whole(pattern, all), dtype, unscaled));
            let crossed =
                move |qkv: &[Tensor], scale: f64| finish(qkv[0].matmul(&qkv[1]) * scale, qkv);
            fails("K transposed", broken(whole(pattern, all), dtype, crossed));
            if pattern.has_mask() {
                fails("the mask", broken(whole(pattern, causal), dtype, right));
            }
        }
    }
}

#[test]
fn on_cuda_what_a_kernel_does_not_take_is_refused() {
    use FusionVariant::{Fused, SdpaCudnn, SdpaEfficient, SdpaFlash, SdpaMath};
    let check = |variant, dtype, [s, d]: [u64; 2]| {
        let work = FusionWork {
            pattern: Pattern::FullAttention,
            variant,
            compile: None,
            size: size([2, 3, s, d], true),
        };
        // The place is only looked at when something is built.
        let on_cuda = Case { device: Device::Cuda, ..cpu_case(work, dtype) };
        context(&on_cuda, work, tch::Device::Cpu).check().map_err(|refusal| {
            let text = refusal.to_string();
            let (_, constraint) = text.split_once("`: ").expect("pattern and variant");
            constraint.to_owned()
        })
    };
    let (bf16, f32) = (Dtype::BFloat16, Dtype::Float32);
    for variant in [Fused, SdpaMath] {
        assert_eq!(check(variant, f32, [1, 5]), Ok(()));
    }
    for (variant, dtype, size, constraint) in [
        (SdpaFlash, f32, [37, 64], "FlashAttention takes bfloat16 and float16, not torch.float32"),
        (SdpaFlash, bf16, [37, 5], "FlashAttention takes features in multiples of 8: d is 5"),
        (SdpaFlash, bf16, [37, 264], "FlashAttention takes at most 256 features: d is 264"),
        (
            SdpaEfficient,
            f32,
            [37, 6],
            "memory-efficient attention takes features in multiples of 4: d is 6",
        ),
        (
            SdpaEfficient,
            bf16,
            [37, 12],
            "memory-efficient attention takes features in multiples of 8: d is 12",
        ),
        (
            SdpaCudnn,
            f32,
            [37, 64],
            "cuDNN's attention takes bfloat16 and float16, not torch.float32",
        ),
        (SdpaCudnn, bf16, [37, 136], "cuDNN's attention takes at most 128 features: d is 136"),
        (SdpaCudnn, bf16, [1, 64], "cuDNN's attention takes no single token: s is 1"),
    ] {
        assert_eq!(check(variant, dtype, size), Err(constraint.to_owned()));
    }
    for (variant, dtype, size) in [
        (SdpaFlash, bf16, [1, 256]),
        (SdpaEfficient, f32, [1, 12]),
        (SdpaEfficient, bf16, [37, 512]),
        (SdpaCudnn, bf16, [37, 128]),
    ] {
        assert_eq!(check(variant, dtype, size), Ok(()), "{variant}");
    }
}

/// 18 heads of 1024 tokens, of which 2²⁴ scores are 16, evenly spaced from the first to the last.
const HEADS: [u64; 4] = [3, 6, 1024, 1];

/// Which heads are.
fn compared(work: FusionWork, dtype: Dtype) -> Vec<i64> {
    rows(<FusionWork as Shipped>::parts(&context(&cpu_case(work, dtype), work, tch::Device::Cpu)))
}

#[test]
fn as_many_heads_are_checked_whatever_the_variant() {
    for work in works(size(HEADS, false)) {
        for &dtype in Dtype::ALL {
            let rows = compared(work, dtype);
            assert_eq!((rows.len(), rows[0], rows[15]), (16, 0, 17), "{work:?} {dtype}");
        }
    }
}

#[test]
fn however_large_a_head_is_four_are_checked() {
    let (pattern, variant) = (Pattern::FullAttention, FusionVariant::Fused);
    for (heads, expected) in [(16, vec![0, 5, 10, 15]), (2, vec![0, 1])] {
        let work = FusionWork {
            pattern,
            variant,
            compile: None,
            size: size([1, heads, 4096, 128], false),
        };
        assert_eq!(compared(work, Dtype::Float32), expected);
    }
}

/// Also in an output that lies in memory by tokens, as some kernels on CUDA leave theirs.
#[test]
fn heads_of_different_sequences_are_compared_with_their_own() {
    let it = || {
        let size = size(HEADS, false);
        prepared(Pattern::FullAttention, FusionVariant::SdpaFlash, Dtype::Float32, size)
    };
    assert_eq!(it().check().expect("accurate").rows_checked, 16);
    let output = it().step().expect("runs");
    let by_tokens = output.transpose(1, 2).contiguous().transpose(1, 2);
    assert!(!by_tokens.is_contiguous());
    let step = Step::new::<Refusal>(&["by tokens"], move || Ok(by_tokens.shallow_clone()));
    assert_eq!(Kernel { step, ..it() }.check().expect("accurate").rows_checked, 16);
}

#[test]
fn a_wrong_head_is_found() {
    let size = size([2, 3, 16, 16], false);
    let of = |order: [i64; 6]| {
        let unfused = FusionVariant::Unfused;
        let work =
            FusionWork { pattern: Pattern::FullAttention, variant: unfused, compile: None, size };
        let it = prepare(work, Dtype::Float32).expect("small");
        let output = it.step().expect("runs");
        let heads = output.reshape([6, 16, 16]).index_select(0, &Tensor::from_slice(&order));
        let step = Step::new::<Refusal>(&["reordered"], move || Ok(heads.reshape([2, 3, 16, 16])));
        Kernel { step, ..it }.check()
    };
    assert!(of([0, 1, 2, 3, 4, 5]).is_ok());
    // Two heads of one sequence, of both, and one in the place of another.
    for order in [[0, 2, 1, 3, 4, 5], [5, 1, 2, 3, 4, 0], [0, 1, 2, 3, 4, 4]] {
        let checked = of(order);
        let inaccurate =
            matches!(&checked, Err(Refusal::Failed(text)) if text.starts_with("inaccurate"));
        assert!(inaccurate, "{order:?}: {checked:?}");
    }
}
