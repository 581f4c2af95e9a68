// `native_layer_norm_backward`, which tch does not wrap: it has an output mask.
#include "border.h"
#include "tensor.h"

#include <ATen/ops/native_layer_norm_backward.h>

// The gradient of the input of a layer norm over its last dimension, without parameters.
extern "C" Status ctn_layer_norm_backward(
    const at::Tensor* grad_output,
    const at::Tensor* input,
    const at::Tensor* mean,
    const at::Tensor* rstd,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    auto [grad_input, weight, bias] = at::native_layer_norm_backward(
        *grad_output, *input, {input->size(-1)}, *mean, *rstd, /*weight=*/std::nullopt,
        /*bias=*/std::nullopt, /*output_mask=*/{true, false, false});
    *out = tensor::release(std::move(grad_input));
  });
}
