// Whether a trace is what its step did. Each reason is the end of a sentence that begins "this step cannot be traced: ",
// and empty where there is none.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <string>
#include <vector>

namespace traceable {

// Notes which operations of a thread give a number out of a tensor. The tracer cannot see what becomes of the number,
// and the graph holds the one of this run.
class Reads {
 public:
  Reads();
  ~Reads();
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;

  std::string reason() const;

 private:
  static std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& function);

  static thread_local std::string found_;
  at::CallbackHandle handle_;
};

// Watches the inputs of a step that runs while this lives.
class Inputs {
 public:
  explicit Inputs(const std::vector<c10::IValue>& inputs);

  // Whether the step wrote into one, also through its views.
  std::string written() const;
  // Whether the output is one, or a view of one: who overwrites the output would destroy the input.
  std::string given_back(const at::Tensor& output) const;

 private:
  std::vector<at::Tensor> inputs_;
  std::vector<uint32_t> versions_;
};

// The operations that the tracer did not see, as far as the graph shows them.
std::string hidden_operations(const std::shared_ptr<torch::jit::Graph>& graph);

// The graph run once more by the interpreter, without any optimization, has to give the step's outputs.
std::string difference(
    const std::shared_ptr<torch::jit::Graph>& graph,
    std::vector<c10::IValue> stack,
    const std::vector<at::Tensor>& outputs);

} // namespace traceable
