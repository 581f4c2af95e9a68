// `_scaled_mm_v2` of blocks whose dtypes tch has no names for.
#include "border.h"
#include "tensor.h"

#include <ATen/BlasBackend.h>
#include <ATen/ops/_scaled_mm_v2.h>

extern "C" Status ctn_block_scaled_mm(
    const at::Tensor* a,
    const at::Tensor* b,
    const at::Tensor* scale_a,
    const at::Tensor* scale_b,
    bool is_e2m1,
    bool is_nvfp4,
    bool to_float32,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    using at::blas::ScalingType;
    const auto values = is_e2m1 ? at::kFloat4_e2m1fn_x2 : at::kFloat8_e4m3fn;
    const auto scales = is_nvfp4 ? at::kFloat8_e4m3fn : at::kFloat8_e8m0fnu;
    const auto recipe =
        static_cast<int64_t>(is_nvfp4 ? ScalingType::BlockWise1x16 : ScalingType::BlockWise1x32);
    const auto swizzle = static_cast<int64_t>(at::blas::SwizzleType::SWIZZLE_32_4_4);
    *out = tensor::release(at::_scaled_mm_v2(
        a->view(values),
        b->view(values).t(),
        {scale_a->view(scales)},
        {recipe},
        {swizzle},
        {scale_b->view(scales)},
        {recipe},
        {swizzle},
        /*bias=*/std::nullopt,
        to_float32 ? at::kFloat : at::kBFloat16));
  });
}
