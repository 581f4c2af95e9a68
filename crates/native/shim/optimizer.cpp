// Optimizers of which each step is one operation over all parameters. tch binds no operation that writes into a list.
#include "border.h"
#include "tensor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>

#include <vector>

extern "C" {
struct SgdOptions {
  double lr;
  double momentum;
  double dampening;
  double weight_decay;
  bool nesterov;
};
struct AdamWOptions {
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
};
}

static std::vector<at::Tensor> list(Tensors tensors) {
  std::vector<at::Tensor> copies;
  for (const auto* tensor : tensors) {
    copies.push_back(*tensor);
  }
  return copies;
}

// `buffers` is empty without momentum, and written before it is read in the first step.
extern "C" Status ctn_optimizer_sgd(
    Tensors parameters,
    Tensors gradients,
    Tensors buffers,
    const SgdOptions* options,
    bool is_first_step) noexcept {
  return border::guard([&] {
    const at::NoGradGuard no_grad;
    at::_fused_sgd_(
        list(parameters), list(gradients), list(buffers), options->weight_decay, options->momentum,
        options->lr, options->dampening, options->nesterov, /*maximize=*/false, is_first_step);
  });
}

// `steps` are counted up here.
extern "C" Status ctn_optimizer_adamw(
    Tensors parameters,
    Tensors gradients,
    Tensors averages,
    Tensors squares,
    Tensors steps,
    const AdamWOptions* options) noexcept {
  return border::guard([&] {
    const at::NoGradGuard no_grad;
    const auto counts = list(steps);
    at::_foreach_add_(counts, 1);
    at::_fused_adamw_(
        list(parameters), list(gradients), list(averages), list(squares), /*max_exp_avg_sqs=*/{},
        counts, options->lr, options->beta1, options->beta2, options->weight_decay, options->eps,
        /*amsgrad=*/false, /*maximize=*/false);
  });
}
