// Torch's autograd: a linear layer whose forward and backward are functions of Rust, and gradients from a given one.
#include "border.h"
#include "tensor.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

extern "C" {
// Functions of Rust's, which may be called on any thread, at the same time too. They never unwind. A message in their
// status is from malloc, and theirs to give away.
struct LinearFunction {
  void* context;
  Status (*forward)(
      void* context, const at::Tensor* input, const at::Tensor* weight, at::Tensor** output);
  Status (*backward)(
      void* context,
      const at::Tensor* grad_output,
      const at::Tensor* input,
      const at::Tensor* weight,
      at::Tensor** grad_input,
      at::Tensor** grad_weight);
  void (*free)(void* context);
};
}

namespace autograd {

// Frees the functions' context when the last graph that may call them is gone.
struct Functions : torch::CustomClassHolder {
  explicit Functions(LinearFunction given) : table(given) {}
  ~Functions() override {
    table.free(table.context);
  }
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;

  LinearFunction table;
};

// Throws what a function of Rust's says; the border turns it back into a status.
static void check(Status status) {
  if (status.kind == static_cast<int32_t>(border::Kind::Fine)) {
    return;
  }
  const std::string message =
      status.message == nullptr ? "no memory was left for the message" : status.message;
  std::free(status.message);
  throw std::runtime_error(message);
}

// A tensor that Rust gave away.
static at::Tensor take(at::Tensor* given) {
  return std::move(*std::unique_ptr<at::Tensor>(given));
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Linear : torch::autograd::Function<Linear> {
  static at::Tensor forward(
      AutogradContext* context,
      const at::Tensor& input,
      const at::Tensor& weight,
      const c10::intrusive_ptr<autograd::Functions>& function) {
    context->save_for_backward({input, weight});
    context->saved_data["function"] = c10::IValue::make_capsule(function);
    const LinearFunction& functions = function->table;
    at::Tensor* output = nullptr;
    check(functions.forward(functions.context, &input, &weight, &output));
    return take(output);
  }

  // Both gradients always, as torchao's.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto function = context->saved_data.at("function").toCapsule();
    const LinearFunction& functions = static_cast<autograd::Functions&>(*function).table;
    at::Tensor* input = nullptr;
    at::Tensor* weight = nullptr;
    check(functions.backward(
        functions.context, &gradients.at(0), &saved.at(0), &saved.at(1), &input, &weight));
    return {take(input), take(weight), at::Tensor()};
  }
};

} // namespace autograd

// `function` is given away: its context is freed with the graph, or here.
extern "C" Status ctn_autograd_linear(
    const at::Tensor* input,
    const at::Tensor* weight,
    LinearFunction function,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    std::unique_ptr<void, void (*)(void*)> context(function.context, function.free);
    const auto held = c10::make_intrusive<autograd::Functions>(function);
    // Its owner now; without memory for one, it is freed here.
    static_cast<void>(context.release());
    // Programs that measure turn gradients off for all their threads.
    const at::AutoGradMode enabled(true);
    *out = tensor::release(autograd::Linear::apply(*input, *weight, held));
  });
}

// `out` has a place for each input.
extern "C" Status ctn_autograd_gradients(
    const at::Tensor* output,
    const at::Tensor* grad_output,
    Tensors inputs,
    bool keep_graph,
    at::Tensor** out) noexcept {
  return border::guard([&] {
    torch::autograd::variable_list variables;
    for (const auto* input : inputs) {
      variables.push_back(*input);
    }
    auto gradients = torch::autograd::grad({*output}, variables, {*grad_output}, keep_graph);
    std::vector<std::unique_ptr<at::Tensor>> made;
    for (auto& gradient : gradients) {
      made.push_back(std::make_unique<at::Tensor>(std::move(gradient)));
    }
    for (auto& gradient : made) {
      *out++ = gradient.release();
    }
  });
}
