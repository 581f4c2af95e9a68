// Records one step by libtorch's tracer as TorchScript.
#include "border.h"
#include "tensor.h"
#include "traceable.h"

#include <c10/core/ScalarType.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/canonicalize.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <iomanip>
#include <sstream>
#include <unordered_map>

struct Trace {
  std::shared_ptr<torch::jit::Graph> graph;
  // Why the graph is not what the step did; empty when it is.
  std::string untraceable;
};

namespace trace {

namespace jit = torch::jit;

// As PyTorch writes it in Python: int8 [4, 4].
static std::string description(const at::Tensor& tensor) {
  std::ostringstream text;
  text << c10::getDtypeNames(tensor.scalar_type()).first << " " << tensor.sizes();
  return text.str();
}

// Two values of the graph cannot be told apart by one tensor.
static void check_inputs(Tensors inputs) {
  std::unordered_map<const c10::TensorImpl*, size_t> seen;
  size_t index = 0;
  for (const auto* input : inputs) {
    TORCH_CHECK(input->defined(), "input ", index, " of the trace is undefined");
    const auto [earlier, is_new] = seen.emplace(input->unsafeGetTensorImpl(), index);
    TORCH_CHECK(
        is_new, "inputs ", earlier->second, " and ", index, " of the trace are the same tensor");
    ++index;
  }
}

// The bits of a tensor as another dtype: TorchScript takes a dtype for a size there, in 2.11 (libtorch's passes fail on
// the graph, and the saved module would be another). The operation that copies has one meaning alone.
static void name_dtype_views(
    jit::tracer::TracingState& state,
    const std::vector<at::Tensor>& outputs) {
  static const auto kCopy = c10::Symbol::fromQualString("aten::view_copy");
  for (auto it = state.graph->nodes().begin(); it != state.graph->nodes().end(); ++it) {
    if (it->kind() != c10::aten::view || it->input(1)->type()->kind() != c10::TypeKind::IntType) {
      continue;
    }
    jit::Node* copy = state.graph->create(kCopy, it->inputs())->insertBefore(*it);
    copy->output()->setType(it->output()->type());
    it->output()->replaceAllUsesWith(copy->output());
    for (const auto& output : outputs) {
      if (state.getValue(output) == it->output()) {
        state.setValue(output, copy->output());
      }
    }
    it.destroyCurrent();
  }
}

using Step = Tensors (*)(void* context);

static Trace record(std::vector<c10::IValue> inputs, Step step, void* context) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> outputs;
  std::string reason;
  const traceable::Inputs given(inputs);
  const auto run = [&](const jit::Stack&) -> jit::Stack {
    // Its warnings are about what is checked afterwards.
    const jit::tracer::NoWarn quiet;
    const traceable::Reads reads;
    const Tensors results = step(context);
    TORCH_CHECK(results.count > 0, "the step that was to be traced failed");
    for (const auto* result : results) {
      TORCH_CHECK(
          jit::tracer::getTracingState()->hasValue(*result), "the output of the step, ",
          description(*result), ", comes from no operation on its inputs");
      outputs.push_back(*result);
    }
    reason = reads.reason();
    if (reason.empty()) {
      reason = given.written();
    }
    for (const auto& output : outputs) {
      if (reason.empty()) {
        reason = given.given_back(output);
      }
    }
    name_dtype_views(*jit::tracer::getTracingState(), outputs);
    return {outputs.begin(), outputs.end()};
  };
  const auto unnamed = [](const at::Tensor&) { return std::string(); };
  // Leaves the thread without a trace whatever happens.
  const auto [state, recorded] = jit::tracer::trace(inputs, run, unnamed);
  for (jit::Value* input : state->graph->inputs()) {
    // Whether someone else wants its gradient is no part of the step.
    input->setType(input->type()->expectRef<c10::TensorType>().withRequiresGrad(false));
  }
  jit::EliminateDeadCode(state->graph);
  jit::ConstantPooling(state->graph);
  Trace trace{jit::Canonicalize(state->graph, /*keep_unique_names=*/false), {}};
  trace.untraceable = reason.empty() ? traceable::hidden_operations(trace.graph) : reason;
  if (trace.untraceable.empty()) {
    trace.untraceable = traceable::difference(trace.graph, std::move(inputs), outputs);
  }
  return trace;
}

template <typename Visit>
static void each_constant(const jit::Block* block, const Visit& visit) {
  for (const jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant && node->hasAttribute(c10::attr::value) &&
        node->kindOf(c10::attr::value) == jit::AttributeKind::t) {
      visit(node->output(), node->t(c10::attr::value));
    }
    for (const jit::Block* inner : node->blocks()) {
      each_constant(inner, visit);
    }
  }
}

// The graph as it prints itself, which shortens the numbers in tensors; so these follow, exactly.
static std::string text(const jit::Graph& graph) {
  std::ostringstream text;
  text << graph.toString(/*print_source_locations=*/false);
  each_constant(graph.block(), [&](const jit::Value* value, const at::Tensor& tensor) {
    text << "# %" << value->debugName() << " is " << description(tensor);
    if (tensor.numel() == 1) {
      const auto bytes = tensor.cpu().contiguous();
      const auto* first = static_cast<const uint8_t*>(bytes.const_data_ptr());
      text << " 0x" << std::hex << std::setfill('0');
      for (int64_t index = 0; index < bytes.element_size(); ++index) {
        text << std::setw(2) << static_cast<unsigned>(first[index]);
      }
      text << std::dec;
    }
    text << "\n";
  });
  return text.str();
}

// A function of TorchScript gives one value: several are a tuple.
static void gather_outputs(jit::Graph& graph) {
  if (graph.outputs().size() == 1) {
    return;
  }
  jit::Node* tuple = graph.insertNode(graph.createTuple(graph.outputs()));
  while (!graph.outputs().empty()) {
    graph.eraseOutput(graph.outputs().size() - 1);
  }
  graph.registerOutput(tuple->output());
}

static jit::Module module(const std::shared_ptr<jit::Graph>& graph) {
  jit::Module module("Step");
  const auto copy = graph->copy();
  gather_outputs(*copy);
  copy->insertInput(0, "self")->setType(module._ivalue()->type());
  const c10::QualifiedName name(*module.type()->name(), "forward");
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(name, copy));
  return module;
}

} // namespace trace

// `step` gives the tensors that it made and keeps them alive, or none when it failed; it must not throw.
extern "C" Status ctn_trace_record(
    Tensors inputs,
    trace::Step step,
    void* context,
    Handle* out) noexcept {
  return border::guard([&] {
    // libtorch would end the outer trace, too.
    TORCH_CHECK(!torch::jit::tracer::isTracing(), "a step is being traced on this thread already");
    trace::check_inputs(inputs);
    std::vector<c10::IValue> values;
    for (const auto* input : inputs) {
      values.emplace_back(*input);
    }
    *out = border::handle(
        std::make_unique<Trace>(trace::record(std::move(values), step, context)));
  });
}

extern "C" Status ctn_trace_text(const Trace* trace, char** out) noexcept {
  return border::guard([&] { *out = border::copy(trace::text(*trace->graph)); });
}

// Tensors of more than one element that the graph holds, one per line.
extern "C" Status ctn_trace_constants(const Trace* trace, char** out) noexcept {
  return border::guard([&] {
    std::string lines;
    trace::each_constant(trace->graph->block(), [&](const auto*, const at::Tensor& tensor) {
      if (tensor.numel() > 1) {
        lines += trace::description(tensor) + "\n";
      }
    });
    *out = border::copy(lines);
  });
}

extern "C" Status ctn_trace_untraceable(const Trace* trace, char** out) noexcept {
  return border::guard([&] { *out = border::copy(trace->untraceable); });
}

extern "C" Status ctn_trace_save(const Trace* trace, Text path) noexcept {
  return border::guard([&] { trace::module(trace->graph).save(path.str()); });
}
