//! Allocations of one step, besides those that it has to make by hand.

use plan::{Dtype, FusionShape, FusionVariant, FusionWork, MemoryFormat, Pattern};
use tch::Tensor;

use super::tests::{context, conv, prepared};
use crate::kernel::KernelContext;
use crate::native::memory::{self, DeviceMemory};

/// Memory that `run` allocates once its first call has filled caches.
fn allocated(run: impl Fn() -> Tensor) -> DeviceMemory {
    tch::no_grad(|| {
        drop(run());
        let (_output, report) = memory::track(&run).unwrap();
        report.cpu
    })
}

fn step(context: &KernelContext<FusionWork>) -> DeviceMemory {
    let step = prepared(context).unwrap();
    allocated(|| step.run().unwrap())
}

#[test]
fn a_linear_layer_with_relu_takes_an_output_for_each_operation() {
    let size = FusionShape::Linear { m: 64, k: 32, n: 256 };
    let y = 4 * 64 * 256;
    for (variant, peak, total) in [
        // The product is freed before ReLU.
        (FusionVariant::Unfused, 2 * y, 3 * y),
        (FusionVariant::Addmm, 2 * y, 2 * y),
        (FusionVariant::Inplace, y, y),
        (FusionVariant::Fused, y, y),
        (FusionVariant::Mkldnn, y, y),
    ] {
        let memory = step(&context(Pattern::LinearBiasRelu, variant, size, Dtype::Float32));
        assert_eq!((memory.peak_bytes, memory.total_bytes), (peak, total), "{variant}");
        assert_eq!(memory.live_bytes.unsigned_abs(), y, "{variant}");
    }
}

/// Compares with the product alone: on some instruction sets oneDNN takes scratch for it.
#[test]
fn in_half_precision_it_takes_the_same_beside_the_product() {
    let size = FusionShape::Linear { m: 64, k: 32, n: 256 };
    let y = 2 * 64 * 256;
    for dtype in [Dtype::BFloat16, Dtype::Float16] {
        let of = |pattern, variant| step(&context(pattern, variant, size, dtype));
        let product = of(Pattern::LinearBias, FusionVariant::Inplace);
        let with_bias = of(Pattern::LinearBias, FusionVariant::Fused);
        for (variant, alone, beside) in [
            (FusionVariant::Unfused, product, 2 * y),
            (FusionVariant::Addmm, with_bias, y),
            (FusionVariant::Inplace, product, 0),
            (FusionVariant::Fused, with_bias, 0),
        ] {
            let memory = of(Pattern::LinearBiasRelu, variant);
            let peak = if beside == 0 { alone.peak_bytes } else { alone.peak_bytes.max(2 * y) };
            assert_eq!(memory.peak_bytes, peak, "{variant} {dtype}");
            assert_eq!(memory.total_bytes, alone.total_bytes + beside, "{variant} {dtype}");
            assert_eq!(memory.live_bytes.unsigned_abs(), y, "{variant} {dtype}");
        }
    }
}

/// Beside the convolution alone, whose scratch is the business of its kernel: reordered filters or
/// copied images, and what the instruction set asks for.
#[test]
fn normalization_and_relu_take_their_outputs_beside_the_convolution() {
    let (i, o, s) = (4, 16, 32);
    let size = conv(2, i, o, s, MemoryFormat::ChannelsLast);
    // Factor and summand of every channel, in float32 whatever the images are.
    let affine = 4 * 2 * o;
    for &dtype in Dtype::ALL {
        let y = dtype.bytes() * 2 * o * s * s;
        let convolution = context(Pattern::Conv2dBn, FusionVariant::Fused, size, dtype);
        for (variant, peak, beside) in [
            (FusionVariant::Unfused, 2 * y + affine, 2 * y + affine),
            // The normalization writes into another tensor than the convolution's.
            (FusionVariant::Inplace, 2 * y + affine, y + affine),
            (FusionVariant::Folded, 2 * y, y),
            // Nothing for ReLU.
            (FusionVariant::Fused, y, 0),
        ] {
            let context = context(Pattern::Conv2dBnRelu, variant, size, dtype);
            if context.check().is_err() {
                continue;
            }
            let (alone, memory) = with_one_scratch(&convolution, &context);
            let label = format!("{variant} {dtype}: {memory:?} beside {alone:?}");
            assert_eq!(memory.peak_bytes, peak.max(alone.peak_bytes), "{label}");
            assert_eq!(memory.total_bytes, alone.total_bytes + beside, "{label}");
            assert_eq!(memory.live_bytes.unsigned_abs(), y, "{label}");
        }
    }
}

/// The memory of both. The scratch of a convolution depends on the number of threads, which another test
/// may change meanwhile: then they are tried again.
fn with_one_scratch(
    convolution: &KernelContext<FusionWork>,
    context: &KernelContext<FusionWork>,
) -> (DeviceMemory, DeviceMemory) {
    for _ in 0..20 {
        let (before, memory, after) = (step(convolution), step(context), step(convolution));
        if before == after {
            return (before, memory);
        }
    }
    panic!("the convolution alone takes another scratch at each trial")
}

/// Two outputs at once are the peak of what is not fused, and one of what is.
#[test]
fn fused_a_convolution_peaks_lower() {
    let size = conv(2, 4, 16, 32, MemoryFormat::ChannelsLast);
    let of =
        |variant| step(&context(Pattern::Conv2dBnRelu, variant, size, Dtype::Float32)).peak_bytes;
    let y = 4 * 2 * 16 * 32 * 32;
    assert_eq!(of(FusionVariant::Unfused), 2 * y + 4 * 2 * 16);
    assert!(of(FusionVariant::Fused) < 2 * y);
    // Filters that are reordered already are not reordered again.
    assert!(of(FusionVariant::Mkldnn) < of(FusionVariant::Fused));
}
