//! Allocations of attention, in a step and until it is checked.

use plan::{Device, Dtype, FusionShape, FusionVariant, FusionWork, Pattern};

use super::attention_tests::{prepare, prepared, size};
use super::*;
use crate::native::memory::{self, DeviceMemory};

/// Memory of one step after the first, float32 on the CPU.
fn memory_of(pattern: Pattern, variant: FusionVariant, size: FusionShape) -> DeviceMemory {
    let it = prepared(pattern, variant, Dtype::Float32, size);
    drop(it.step().expect("runs"));
    let (output, report) =
        memory::track(|| tch::no_grad(|| it.step())).expect("nothing else tracks");
    drop(output.expect("runs"));
    report.cpu
}

/// Two sequences of three heads, 1024 tokens of 64 features: scores of 24 MiB, Q of 1.5.
const LARGE: [u64; 4] = [2, 3, 1024, 64];
const SCORES: u64 = 4 * 2 * 3 * 1024 * 1024;
const Q: u64 = 4 * 2 * 3 * 1024 * 64;

#[test]
fn every_unfused_result_is_a_matrix_of_scores_and_two_live_at_once() {
    use FusionVariant::{Baddbmm, Fused, Inplace, Unfused};
    // A number that multiplies a tensor is one of a single element, in float64 and in float32.
    let number = 8 + 4;
    for (pattern, variant, causal, matrices, live, other) in [
        (Pattern::QkScores, Unfused, false, 2, 2, number),
        (Pattern::QkScores, Fused, false, 1, 1, 0),
        (Pattern::QkScores, Inplace, false, 1, 1, number),
        (Pattern::QkSoftmax, Unfused, false, 3, 2, number),
        (Pattern::QkSoftmax, Unfused, true, 4, 2, number),
        (Pattern::QkSoftmax, Fused, true, 2, 2, 0),
        (Pattern::QkSoftmax, Inplace, true, 2, 2, number),
        (Pattern::FullAttention, Unfused, false, 3, 2, number + Q),
        (Pattern::FullAttention, Unfused, true, 4, 2, number + Q),
        (Pattern::FullAttention, Baddbmm, true, 2, 2, Q),
    ] {
        let memory = memory_of(pattern, variant, size(LARGE, causal));
        let what = format!("{pattern} {variant} {causal}: {memory:?}");
        assert_eq!(memory.total_bytes, matrices * SCORES + other, "{what}");
        // The numbers are freed before the last product.
        let peak = live * SCORES + if pattern == Pattern::FullAttention { Q } else { 0 };
        assert!((peak..=peak + number).contains(&memory.peak_bytes), "{what}");
    }
}

#[test]
fn the_flash_kernel_makes_no_matrix_of_scores() {
    // A thread works on 256 queries and 512 keys at a time: their scores, two sums and the output.
    let block = 4 * (256 * 512 + 2 * 256 + 256 * 64);
    // The logarithm of each row's sum, for a backward pass.
    let sums = 4 * 2 * 3 * 1024;
    for variant in [FusionVariant::Fused, FusionVariant::SdpaFlash] {
        for causal in [false, true] {
            let memory = memory_of(Pattern::FullAttention, variant, size(LARGE, causal));
            let threads = u64::try_from(tch::get_num_threads()).expect("at least one");
            assert_eq!(memory.total_bytes, Q + sums + threads * block, "{variant} {memory:?}");
            assert_eq!(memory.peak_bytes, memory.total_bytes);
        }
    }
}

/// The composite allocates the bytes that its counted operations write, except those of operations
/// in place: the mask's sum, and the last step of the softmax.
#[test]
fn the_composite_makes_what_is_counted_for_it() {
    for variant in [FusionVariant::Sdpa3d, FusionVariant::SdpaMath] {
        for causal in [false, true] {
            let size = size(LARGE, causal);
            let work = FusionWork { pattern: Pattern::FullAttention, variant, compile: None, size };
            let counted = work.operations(Dtype::Float32, Device::Cpu).expect("of the pattern");
            let written: u64 = counted.iter().map(|it| it.writes).sum();
            let over = if causal { 2 * SCORES } else { SCORES };
            let total = memory_of(Pattern::FullAttention, variant, size).total_bytes;
            // Besides, tensors of single numbers.
            let numbers = total - (written - over);
            assert!(numbers < 64, "{variant} {causal}: {total} {counted:?}");
        }
    }
}

/// A head is an example however many scores it has, and is computed whole in float64.
#[test]
fn a_single_long_sequence_takes_no_more_than_was_asked_for() {
    let (pattern, variant) = (Pattern::FullAttention, FusionVariant::Fused);
    let work = FusionWork { pattern, variant, compile: None, size: size([1, 8, 2048, 8], false) };
    let (accuracy, report) = memory::track(|| {
        let it = prepare(work, Dtype::BFloat16).expect("fits");
        it.check()
    })
    .expect("nothing else tracks");
    assert_eq!(accuracy.expect("accurate").rows_checked, 4);
    let scores = 8 * 4 * 2048 * 2048;
    assert!(report.cpu.peak_bytes > 2 * scores, "{report:?}");
    assert!(report.cpu.peak_bytes <= work.memory_bytes(Dtype::BFloat16), "{report:?}");
}
