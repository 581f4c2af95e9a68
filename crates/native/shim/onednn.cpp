// oneDNN's convolution and linear layer with an operation fused onto their result, and weights in the layout that oneDNN
// computes with. PyTorch has them for its compiler, registered as operators of the namespace `mkldnn`.
//
// The operators trust the compiler: some inputs that they do not check give wrong results (a bias with strides, a
// weight prepared for the other operator), and a stride of 0 ends the process. So it is checked here.
#include "border.h"
#include "tensor.h"

#include <ATen/Context.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <array>
#include <string_view>

extern "C" {
struct Convolution {
  int64_t padding[2];
  int64_t stride[2];
  int64_t dilation[2];
  int64_t groups;
};
struct OnednnDtypes {
  bool built;
  bool bf16;
  bool fp16;
};
}

namespace onednn {

using Scalars = c10::List<std::optional<at::Scalar>>;

// The operator of that name and C++ signature. Looked up once: callers keep it in a static.
template <typename Signature>
static c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

struct PostOp {
  std::string_view attribute;
  std::string_view algorithm;
};

static PostOp post_op(int32_t code) {
  // Gelu's algorithm is "none" for the exact one with erf, as in `torch.nn.functional.gelu`.
  constexpr std::array<PostOp, 3> kPostOps{{{"none", ""}, {"relu", ""}, {"gelu", "none"}}};
  TORCH_CHECK(0 <= code && code < static_cast<int32_t>(kPostOps.size()), "post-op ", code);
  return kPostOps[static_cast<size_t>(code)];
}

// The argument of every post-op: they have no parameters.
static const Scalars& no_scalars() {
  static const Scalars empty;
  return empty;
}

static void check_dense(const at::Tensor& tensor, const char* what) {
  TORCH_CHECK(
      tensor.device().is_cpu() && tensor.layout() == at::kStrided,
      "the ", what, " has to be a dense tensor on the CPU, not ", tensor.layout(), " on ",
      tensor.device());
}

static void check_weight(const at::Tensor& weight, int64_t dimensions, const char* axes) {
  TORCH_CHECK(
      weight.dim() == dimensions && weight.numel() > 0,
      "the weight has to be ", axes, ", not ", weight.sizes());
  TORCH_CHECK(weight.device().is_cpu(), "the weight has to be on the CPU, not ", weight.device());
}

static void check_operands(
    const at::Tensor& input,
    const at::Tensor& weight,
    const std::optional<at::Tensor>& bias) {
  check_dense(input, "input");
  TORCH_CHECK(
      input.scalar_type() == weight.scalar_type(),
      "the input is ", input.scalar_type(), " and the weight ", weight.scalar_type());
  TORCH_CHECK(
      !(at::GradMode::is_enabled() && (input.requires_grad() || weight.requires_grad())),
      "oneDNN's operators with a post-op have no gradient: call them without gradients");
  if (bias.has_value()) {
    check_dense(*bias, "bias");
    TORCH_CHECK(
        bias->dim() == 1 && bias->size(0) == weight.size(0) && bias->is_contiguous(),
        "the bias has to be ", weight.size(0), " values in a row, not ", bias->sizes(),
        " with strides ", bias->strides());
    TORCH_CHECK(
        bias->scalar_type() == weight.scalar_type(),
        "the bias is ", bias->scalar_type(), " and the weight ", weight.scalar_type());
  }
}

static void check_convolution(const Convolution& with, const at::Tensor& weight) {
  for (const int axis : {0, 1}) {
    TORCH_CHECK(with.padding[axis] >= 0, "a padding of ", with.padding[axis]);
    TORCH_CHECK(with.stride[axis] > 0, "a stride of ", with.stride[axis]);
    TORCH_CHECK(with.dilation[axis] > 0, "a dilation of ", with.dilation[axis]);
  }
  TORCH_CHECK(
      with.groups > 0 && weight.size(0) % with.groups == 0,
      weight.size(0), " output channels in ", with.groups, " groups");
}

static void check_channels(at::IntArrayRef input, const at::Tensor& weight, int64_t groups) {
  TORCH_CHECK(
      input.size() == 4 && input[1] == weight.size(1) * groups,
      "the input has to be [batch, ", weight.size(1) * groups, ", height, width], not ", input);
}

} // namespace onednn

// The dtypes that libtorch and its oneDNN support on this CPU.
extern "C" Status ctn_onednn_dtypes(OnednnDtypes* out) noexcept {
  return border::guard([&] {
    if (!at::hasMKLDNN()) {
      *out = {false, false, false};
      return;
    }
    const bool bf16 = onednn::find<bool()>("mkldnn::_is_mkldnn_bf16_supported").call();
    const bool fp16 = onednn::find<bool()>("mkldnn::_is_mkldnn_fp16_supported").call();
    *out = {true, bf16, fp16};
  });
}

extern "C" Status ctn_onednn_reorder_linear(
    const at::Tensor* weight,
    int64_t rows,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    static const auto reorder = onednn::find<at::Tensor(const at::Tensor&, std::optional<int64_t>)>(
        "mkldnn::_reorder_linear_weight");
    onednn::check_dense(*weight, "weight");
    onednn::check_weight(*weight, 2, "[outputs, inputs]");
    TORCH_CHECK(rows > 0, "a batch of ", rows, " rows");
    *out = tensor::release(reorder.call(*weight, rows));
  });
}

extern "C" Status ctn_onednn_reorder_convolution(
    const at::Tensor* weight,
    const Convolution* with,
    const int64_t* input_size,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    static const auto reorder = onednn::find<at::Tensor(
        const at::Tensor&,
        at::IntArrayRef,
        at::IntArrayRef,
        at::IntArrayRef,
        int64_t,
        at::OptionalIntArrayRef)>("mkldnn::_reorder_convolution_weight");
    const at::IntArrayRef size(input_size, 4);
    onednn::check_dense(*weight, "weight");
    onednn::check_weight(*weight, 4, "[outputs, inputs / groups, height, width]");
    onednn::check_convolution(*with, *weight);
    onednn::check_channels(size, *weight, with->groups);
    *out = tensor::release(
        reorder.call(*weight, with->padding, with->stride, with->dilation, with->groups, size));
  });
}

// `bias` may be null.
extern "C" Status ctn_onednn_linear(
    const at::Tensor* input,
    const at::Tensor* weight,
    const at::Tensor* bias,
    int32_t post_op,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    static const auto linear = onednn::find<at::Tensor(
        const at::Tensor&,
        const at::Tensor&,
        const std::optional<at::Tensor>&,
        std::string_view,
        onednn::Scalars,
        std::optional<std::string_view>)>("mkldnn::_linear_pointwise");
    const auto optional_bias = tensor::optional(bias);
    onednn::check_weight(*weight, 2, "[outputs, inputs]");
    onednn::check_operands(*input, *weight, optional_bias);
    TORCH_CHECK(
        input->dim() >= 1 && input->size(-1) == weight->size(1),
        "the input has to be [.., ", weight->size(1), "], not ", input->sizes());
    const auto [attribute, algorithm] = onednn::post_op(post_op);
    *out = tensor::release(linear.call(
        *input, *weight, optional_bias, attribute, onednn::no_scalars(), algorithm));
  });
}

// `bias` may be null.
extern "C" Status ctn_onednn_convolution(
    const at::Tensor* input,
    const at::Tensor* weight,
    const at::Tensor* bias,
    const Convolution* with,
    int32_t post_op,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    static const auto convolution = onednn::find<at::Tensor(
        const at::Tensor&,
        const at::Tensor&,
        const std::optional<at::Tensor>&,
        at::IntArrayRef,
        at::IntArrayRef,
        at::IntArrayRef,
        int64_t,
        std::string_view,
        onednn::Scalars,
        std::optional<std::string_view>)>("mkldnn::_convolution_pointwise");
    const auto optional_bias = tensor::optional(bias);
    onednn::check_weight(*weight, 4, "[outputs, inputs / groups, height, width]");
    onednn::check_operands(*input, *weight, optional_bias);
    onednn::check_convolution(*with, *weight);
    onednn::check_channels(input->sizes(), *weight, with->groups);
    const auto [attribute, algorithm] = onednn::post_op(post_op);
    *out = tensor::release(convolution.call(
        *input,
        *weight,
        optional_bias,
        with->padding,
        with->stride,
        with->dilation,
        with->groups,
        attribute,
        onednn::no_scalars(),
        algorithm));
  });
}
