// The kernels of scaled dot-product attention, each called by its own name: of those on CUDA, tch binds the backward
// pass alone.
#include "border.h"
#include "tensor.h"

#include <ATen/SDPBackend.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>

#include <tuple>

// No mask but the causal one, no dropout, the default scale; the output alone.
static at::Tensor attend(
    at::SDPBackend backend,
    const at::Tensor& query,
    const at::Tensor& key,
    const at::Tensor& value,
    bool causal) {
  constexpr double kDropout = 0.0;
  switch (backend) {
    case at::SDPBackend::math:
      return std::get<0>(at::_scaled_dot_product_attention_math(
          query, key, value, std::nullopt, kDropout, causal));
    case at::SDPBackend::flash_attention:
      return query.device().is_cpu()
          ? std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
                query, key, value, kDropout, causal))
          : std::get<0>(
                at::_scaled_dot_product_flash_attention(query, key, value, kDropout, causal));
    case at::SDPBackend::efficient_attention:
      return std::get<0>(at::_scaled_dot_product_efficient_attention(
          query, key, value, std::nullopt, /*compute_log_sumexp=*/false, kDropout, causal));
    case at::SDPBackend::cudnn_attention:
      return std::get<0>(at::_scaled_dot_product_cudnn_attention(
          query, key, value, std::nullopt, /*compute_log_sumexp=*/false, kDropout, causal));
    default:
      TORCH_CHECK(false, "kernel ", static_cast<int64_t>(backend), " of SDPA is not called by name");
  }
}

// `backend` is an `at::SDPBackend`.
extern "C" Status ctn_sdpa_attend(
    int64_t backend,
    const at::Tensor* query,
    const at::Tensor* key,
    const at::Tensor* value,
    bool causal,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    *out = tensor::release(
        attend(static_cast<at::SDPBackend>(backend), *query, *key, *value, causal));
  });
}
