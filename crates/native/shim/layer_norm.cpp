// `native_layer_norm_backward`, which tch does not wrap: it has an output mask.
#include "border.h"
#include "tensor.h"

#include <ATen/TracerMode.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>

namespace {

namespace tracer = torch::jit::tracer;

at::Tensor backward(
    const at::Tensor& grad_output,
    const at::Tensor& input,
    const at::Tensor& mean,
    const at::Tensor& rstd) {
  auto [grad_input, weight, bias] = at::native_layer_norm_backward(
      grad_output, input, {input.size(-1)}, mean, rstd, /*weight=*/std::nullopt, /*bias=*/std::nullopt,
      /*output_mask=*/{true, false, false});
  return grad_input;
}

// libtorch's tracer cannot write down a mask of outputs, so its node is made here, as the tracer makes others.
at::Tensor traced(
    const at::Tensor& grad_output,
    const at::Tensor& input,
    const at::Tensor& mean,
    const at::Tensor& rstd) {
  const auto state = tracer::getTracingState();
  auto* node = state->createNode(c10::Symbol::fromQualString("aten::native_layer_norm_backward"), 0);
  tracer::recordSourceLocation(node);
  const int64_t size[] = {input.size(-1)};
  tracer::addInputs(node, "grad_out", grad_output);
  tracer::addInputs(node, "input", input);
  tracer::addInputs(node, "normalized_shape", at::IntArrayRef(size));
  tracer::addInputs(node, "mean", mean);
  tracer::addInputs(node, "rstd", rstd);
  const std::optional<at::Tensor> absent;
  tracer::addInputs(node, "weight", absent);
  tracer::addInputs(node, "bias", absent);
  node->addInput(state->graph->insertConstant(c10::List<bool>({true, false, false})));
  state->insertNode(node);
  // The operation is in the graph already.
  const at::tracer::impl::NoTracerDispatchMode untraced;
  auto grad_input = backward(grad_output, input, mean, rstd);
  tracer::addOutput(node, grad_input);
  tracer::addOutput(node, at::Tensor());
  tracer::addOutput(node, at::Tensor());
  return grad_input;
}

} // namespace

// The gradient of the input of a layer norm over its last dimension, without parameters.
extern "C" Status ctn_layer_norm_backward(
    const at::Tensor* grad_output,
    const at::Tensor* input,
    const at::Tensor* mean,
    const at::Tensor* rstd,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    // The kernel trusts its caller.
    const auto rows = input->numel() / std::max<int64_t>(input->size(-1), 1);
    TORCH_CHECK(
        grad_output->sizes() == input->sizes() && mean->numel() == rows && rstd->numel() == rows,
        "a layer norm of ", input->sizes(), " with a gradient of ", grad_output->sizes(), ", ", mean->numel(),
        " means and ", rstd->numel(), " deviations");
    const auto run = tracer::isTracing() ? traced : backward;
    *out = tensor::release(run(*grad_output, *input, *mean, *rstd));
  });
}
