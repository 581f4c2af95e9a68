// `_addmm_activation`. tch passes its `use_gelu` where libtorch expects the factor of the bias.
#include "border.h"
#include "tensor.h"

#include <ATen/ops/_addmm_activation.h>

extern "C" Status ctn_addmm_activation(
    const at::Tensor* bias,
    const at::Tensor* a,
    const at::Tensor* b,
    bool use_gelu,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    *out = tensor::release(
        at::_addmm_activation(*bias, *a, *b, /*beta=*/1, /*alpha=*/1, use_gelu));
  });
}
