use plan::{Device, Dtype, MemoryFormat, PatternFamily};

use super::super::tests::{context, conv, prepared};
use super::*;
use crate::measurement::profiler;
use crate::native::profile::{outermost, profile};

const NVJET: &str = "nvjet_hsh_128x128_64x5_1x2_h_bz_coopB_bias_TNT";
const GEMM: &str = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn";
const CUTLASS: &str = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_64x6_tn_align8>\
                       (cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_64x6_tn_align8::Params)";
const SPLIT_K: &str = "void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, float, __half, true, float, \
                       __half>(cublasLt::cublasSplitKParams<float>, float const*, __half*)";
const ADD: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, \
                   std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";
const BROADCAST_ADD: &str = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<\
     at::native::CUDAFunctor_add<c10::Half> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::Half> \
     const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::Half> >\
     (at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::Half> const&)::{lambda(int)#1})";
const RELU: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar\
     (at::TensorIteratorBase&, c10::Scalar, c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::\
     operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, \
     at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, \
     at::native::detail::ClampLimits)::{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::\
     {lambda(float)#1}, std::array<char*, 2ul>)";
const MUL: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, \
     at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, \
     at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, \
     std::array<char*, 2ul>)";
const SOFTMAX: &str = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(float*, \
                       float const*, int, int, int, bool const*, int, bool)";
const CONV: &str = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_stage3_warpsize2x2x1_\
                    g1_tensor16x8x16_execute_kernel__5x_cudnn";
const TO_NHWC: &str = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, \
                       (cudnnKernelDataType_t)0>(cudnn::ops::nchw2nhwc_params_t<float>, __half const*, __half*)";
const BATCH_NORM: &str = "void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float, float, \
                          cudnnTensorStruct, float const*)";
const FLASH: &str = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, \
                     false, cutlass::half_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 4, cutlass::half_t> >, \
                     false, false, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)";
const EFFICIENT: &str = "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, \
                         cutlass::arch::Sm80, true, 64, 64, true, true, true>::Params)";
const CUDNN: &str =
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0";

/// Pattern, variant, the operation that its step is, the kernels of `unfused`, its own, whether the promise is kept.
type Row<'a> = (Pattern, FusionVariant, &'a str, &'a [&'a str], &'a [&'a str], bool);

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn size(family: PatternFamily) -> FusionShape {
    plan::pattern::sizes(family, plan::SizeSet::Quick)[0]
}

fn promised(pattern: Pattern, variant: FusionVariant, kernels: &[&str]) -> Promise {
    let context = context(pattern, variant, size(pattern.family()), Dtype::Float32);
    promise(&context.work, &names(kernels))
}

#[test]
fn kernels_that_keep_a_promise_and_kernels_that_break_it() {
    use FusionVariant as V;
    use Pattern as P;
    const FLASH_OP: &str = "aten::_scaled_dot_product_flash_attention";
    const CUDNN_OP: &str = "aten::_scaled_dot_product_cudnn_attention";
    const EFFICIENT_OP: &str = "aten::_scaled_dot_product_efficient_attention";
    const MATH_OP: &str = "aten::_scaled_dot_product_attention_math";
    let linear = [CUTLASS, ADD, RELU].as_slice();
    let conv_relu = [TO_NHWC, CONV, BROADCAST_ADD, RELU].as_slice();
    let conv_bn = [CONV, BATCH_NORM].as_slice();
    let conv_bn_relu = [CONV, BATCH_NORM, RELU].as_slice();
    let scores = [GEMM, MUL, SOFTMAX].as_slice();
    let attention = [GEMM, MUL, SOFTMAX, GEMM].as_slice();
    #[rustfmt::skip]
    let table: &[Row] = &[
        (P::LinearBiasRelu, V::Unfused, "", linear, linear, true),
        (P::LinearBiasRelu, V::Unfused, "", linear, &[CUTLASS], false),
        (P::LinearBiasRelu, V::Fused, "", linear, &[NVJET], true),
        (P::LinearBiasRelu, V::Fused, "", linear, &[CUTLASS, SPLIT_K], true),
        (P::LinearBiasRelu, V::Fused, "", linear, &[GEMM, RELU], false),
        (P::LinearBiasRelu, V::Fused, "", linear, &[RELU], false),
        (P::LinearBiasRelu, V::Fused, "", linear, &[], false),
        (P::LinearBias, V::Fused, "", &[GEMM, ADD], &[NVJET], true),
        (P::LinearBias, V::Fused, "", &[GEMM, ADD], &[ADD, GEMM], false),
        (P::LinearBiasRelu, V::Addmm, "", linear, &[NVJET, RELU], true),
        (P::LinearBiasRelu, V::Addmm, "", linear, &[ADD, CUTLASS, RELU], false),
        (P::LinearBiasRelu, V::Inplace, "", linear, linear, true),
        (P::LinearBiasRelu, V::Inplace, "", linear, &[CUTLASS, SPLIT_K, ADD, RELU], true),
        (P::LinearBiasRelu, V::Inplace, "", linear, &[CUTLASS, ADD, ADD, RELU], false),
        (P::LinearBiasRelu, V::TorchScript, "", linear, &[CUTLASS, "fused_add_relu"], true),
        (P::LinearBiasRelu, V::TorchScript, "", linear, linear, false),
        (P::Conv2dRelu, V::Fused, "", conv_relu, &[TO_NHWC, CONV], true),
        (P::Conv2dRelu, V::Fused, "", conv_relu, &[CONV, RELU], false),
        (P::Conv2dBn, V::Fused, "", conv_bn, &[CONV, BROADCAST_ADD], true),
        (P::Conv2dBn, V::Fused, "", conv_bn, conv_bn, false),
        (P::Conv2dBnRelu, V::Folded, "", conv_bn_relu, &[CONV, BROADCAST_ADD, RELU], true),
        (P::Conv2dBnRelu, V::Folded, "", conv_bn_relu, &[CONV, BATCH_NORM], false),
        (P::Conv2dBnRelu, V::Fused, "", conv_bn_relu, &[CONV], true),
        (P::Conv2dBnRelu, V::Fused, "", conv_bn_relu, &[CONV, RELU], false),
        (P::QkScores, V::Fused, "", &[GEMM, MUL], &[GEMM], true),
        (P::QkScores, V::Fused, "", &[GEMM, MUL], &[GEMM, MUL], false),
        (P::QkSoftmax, V::Fused, "", scores, &[GEMM, SOFTMAX], true),
        (P::QkSoftmax, V::Fused, "", scores, scores, false),
        (P::FullAttention, V::Baddbmm, "", attention, &[GEMM, SOFTMAX, GEMM], true),
        (P::FullAttention, V::Baddbmm, "", attention, &[GEMM, MUL, GEMM], false),
        (P::FullAttention, V::Fused, FLASH_OP, attention, &[FLASH], true),
        (P::FullAttention, V::Fused, FLASH_OP, attention, &[CUDNN], false),
        (P::FullAttention, V::SdpaCudnn, CUDNN_OP, attention, &[CUDNN], true),
        (P::FullAttention, V::SdpaCudnn, CUDNN_OP, attention, &[FLASH], false),
        (P::FullAttention, V::SdpaEfficient, EFFICIENT_OP, attention, &[EFFICIENT], true),
        (P::FullAttention, V::SdpaEfficient, EFFICIENT_OP, attention, &[GEMM], false),
        (P::FullAttention, V::Sdpa3d, MATH_OP, attention, &[MUL, MUL, GEMM, SOFTMAX, GEMM], true),
        (P::FullAttention, V::SdpaMath, MATH_OP, attention, &[FLASH], false),
    ];
    for &(pattern, variant, operation, unfused, ran, kept) in table {
        let promise = promised(pattern, variant, &[operation]);
        let shown: Vec<_> = ran.iter().map(|name| short(name)).collect();
        let label = format!("{pattern} {variant}: {shown:?}");
        assert_eq!(promise.holds(&names(ran), &names(unfused)), kept, "{label}");
    }
}

/// `baddbmm` copies its input, which is the mask.
#[test]
fn a_mask_is_one_elementwise_kernel_more() {
    let size = FusionShape::Attention { b: 1, heads: 1, s: 8, d: 8, causal: true };
    let context = context(Pattern::QkSoftmax, FusionVariant::Fused, size, Dtype::Float32);
    let unfused = names(&[GEMM, MUL, ADD, SOFTMAX]);
    let promise = promise(&context.work, &[]);
    assert!(promise.holds(&names(&[ADD, GEMM, SOFTMAX]), &unfused));
    assert!(!promise.holds(&names(&[ADD, ADD, SOFTMAX]), &unfused));
}

#[test]
fn a_promise_in_words() {
    let unfused = names(&[CUTLASS, SPLIT_K, ADD, RELU]);
    let words = |pattern, variant| promised(pattern, variant, &[]).describe(&unfused);
    assert_eq!(
        words(Pattern::LinearBiasRelu, FusionVariant::Fused),
        "exactly 1, none of them elementwise"
    );
    assert_eq!(
        words(Pattern::LinearBiasRelu, FusionVariant::Addmm),
        "fewer than `unfused`, 3, at most 1 of them elementwise"
    );
    assert_eq!(words(Pattern::LinearBiasRelu, FusionVariant::Inplace), "as many as `unfused`, 3");
    assert_eq!(
        words(Pattern::Conv2dBn, FusionVariant::Fused),
        "no more than `unfused`, 3, at most 1 of them elementwise, none that normalizes"
    );
    let flash = ["aten::_scaled_dot_product_flash_attention"];
    assert_eq!(
        promised(Pattern::FullAttention, FusionVariant::SdpaFlash, &flash).describe(&unfused),
        "fewer than `unfused`, 3, one named `flash_fwd`"
    );
}

#[test]
fn names_are_shortened() {
    for (name, expected) in [
        (NVJET, NVJET),
        (CUTLASS, "Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_64x6_tn_align8>"),
        (ADD, "vectorized_elementwise_kernel<4, CUDAFunctor_add, array>"),
        (BROADCAST_ADD, "elementwise_kernel<128, 4, CUDAFunctor_add>"),
        (RELU, "vectorized_elementwise_kernel<4, launch_clamp_scalar, array>"),
        (SOFTMAX, "softmax_warp_forward<float, float, float, 8, false, false>"),
        (EFFICIENT, "fmha_cutlassF_f32_aligned_64x64_rf_sm80"),
        ("Memset (Device)", "Memset"),
        ("aten::addmm", "aten::addmm"),
    ] {
        assert_eq!(short(name), expected);
    }
    let long = short(CONV);
    assert!(long.ends_with('…') && long.chars().count() == 81, "{long}");
}

/// The operators that libtorch runs for the variant on the host, outermost.
fn operators(pattern: Pattern, variant: FusionVariant, size: FusionShape) -> Vec<String> {
    let context = context(pattern, variant, size, Dtype::Float32);
    assert_eq!(context.device, Device::Cpu);
    let step = prepared(&context).expect("built");
    let run = || tch::no_grad(|| step.run());
    drop(run().expect("warmed up"));
    let _turn = profiler::turn();
    let events = profile(context.torch_device, run).expect("profiled");
    outermost(&events).into_iter().map(|event| event.name.clone()).collect()
}

#[test]
fn a_fused_pattern_runs_fewer_operators_on_the_host() {
    let linear = FusionShape::Linear { m: 4, k: 8, n: 6 };
    let image = conv(1, 3, 4, 8, MemoryFormat::ChannelsLast);
    for (pattern, variant, size, expected) in [
        (Pattern::LinearBias, FusionVariant::Fused, linear, ["aten::addmm"].as_slice()),
        (Pattern::LinearBiasRelu, FusionVariant::Addmm, linear, &["aten::addmm", "aten::relu"]),
        (Pattern::LinearBiasRelu, FusionVariant::Mkldnn, linear, &["mkldnn::_linear_pointwise"]),
        (Pattern::Conv2dRelu, FusionVariant::Mkldnn, image, &["mkldnn::_convolution_pointwise"]),
    ] {
        let unfused = operators(pattern, FusionVariant::Unfused, size);
        let ran = operators(pattern, variant, size);
        assert_eq!(ran, expected, "{pattern} {variant}");
        let promise = promised(pattern, variant, &[]);
        assert!(promise.holds(&ran, &unfused), "{pattern} {variant}: {ran:?}, not {unfused:?}");
        assert!(!promise.holds(&unfused, &unfused), "{pattern} {variant}");
    }
}
