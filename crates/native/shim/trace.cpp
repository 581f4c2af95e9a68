// What one step does, recorded by libtorch's tracer as TorchScript.
#include "border.h"

#include <ATen/Functions.h>
#include <ATen/TracerMode.h>
#include <ATen/record_function.h>
#include <c10/core/ScalarType.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/canonicalize.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

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

// Notes which operations of a thread give a number out of a tensor. The tracer cannot see what becomes of the number,
// and the graph holds the one of this run.
class Reads {
 public:
  Reads() {
    found_.clear();
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&note).scopes({at::RecordScope::FUNCTION}));
  }
  ~Reads() {
    at::removeCallback(handle_);
  }
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;

  const std::string& found() const {
    return found_;
  }

 private:
  static std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& function) {
    const std::string_view name = function.name();
    // What an operation reads for itself is part of it, and the tracer is off inside of it.
    if ((name == "aten::_local_scalar_dense" || name == "aten::equal") &&
        at::tracer::impl::is_dispatch_enabled()) {
      found_ = name;
    }
    return nullptr;
  }

  static thread_local std::string found_;
  at::CallbackHandle handle_;
};

thread_local std::string Reads::found_;

// Two values of the graph cannot be told apart by one tensor.
static void check_inputs(const at::Tensor* const* inputs, size_t count) {
  std::unordered_map<const c10::TensorImpl*, size_t> seen;
  for (size_t index = 0; index < count; ++index) {
    TORCH_CHECK(inputs[index]->defined(), "input ", index, " of the trace is undefined");
    const auto [earlier, is_new] = seen.emplace(inputs[index]->unsafeGetTensorImpl(), index);
    TORCH_CHECK(
        is_new, "inputs ", earlier->second, " and ", index, " of the trace are the same tensor");
  }
}

// An allocation whose content is whatever was there before.
static bool is_unwritten(const jit::Node* node) {
  static const std::unordered_set<std::string> kKinds{
      "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::empty_permuted",
      "aten::new_empty", "aten::new_empty_strided"};
  return kKinds.count(node->kind().toQualString()) != 0;
}

// Whether the operation asks no more of the value than its size and dtype.
static bool reads_form_alone(const jit::Node* node) {
  const std::string_view kind = node->kind().toQualString();
  return is_unwritten(node) || kind == "aten::size" || kind.substr(0, 10) == "aten::new_" ||
      kind.substr(kind.size() - std::min<size_t>(kind.size(), 5)) == "_like";
}

// Whether the operation writes into what aliases the value, without reading that first.
static bool overwrites(const jit::Node* node, const jit::Value* value, const jit::AliasDb& aliases) {
  static const std::unordered_set<std::string> kWriters{"aten::copy_", "aten::fill_", "aten::zero_"};
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) {
    return false;
  }
  bool overwritten = false;
  for (size_t index = 0; index < node->inputs().size(); ++index) {
    if (!aliases.mayAlias(node->input(index), value)) {
      continue;
    }
    const auto& argument = schema->arguments().at(index);
    if (argument.is_out() || (index == 0 && kWriters.count(node->kind().toQualString()) != 0)) {
      overwritten = true;
    } else {
      return false;
    }
  }
  return overwritten;
}

// Whether something is read from the memory that `allocation` makes before any operation has written there.
static bool is_read_unwritten(const jit::Node* allocation, const jit::AliasDb& aliases) {
  const jit::Value* value = allocation->output();
  const auto is_alias = [&](const jit::Value* other) { return aliases.mayAlias(other, value); };
  for (const jit::Node* node = allocation->next(); node->kind() != c10::prim::Return;
       node = node->next()) {
    const auto inputs = node->inputs();
    if (std::none_of(inputs.begin(), inputs.end(), is_alias) || reads_form_alone(node)) {
      continue;
    }
    if (overwrites(node, value, aliases)) {
      return false;
    }
    const auto outputs = node->outputs();
    const auto* schema = node->maybeSchema();
    const bool is_view = schema != nullptr && !schema->is_mutable() &&
        std::all_of(outputs.begin(), outputs.end(), is_alias);
    if (!is_view) {
      return true;
    }
  }
  const auto results = allocation->owningGraph()->outputs();
  return std::any_of(results.begin(), results.end(), is_alias);
}

static std::string form(const jit::Value* value) {
  std::ostringstream text;
  text << *value->type();
  return text.str();
}

// What the graph itself shows of operations that the tracer did not see.
static std::string hidden_operations(const std::shared_ptr<jit::Graph>& graph) {
  const jit::AliasDb aliases(graph);
  for (size_t index = 0; index < graph->inputs().size(); ++index) {
    if (aliases.hasWriters(graph->inputs()[index])) {
      return "it writes into its input " + std::to_string(index);
    }
  }
  for (const jit::Node* node : graph->nodes()) {
    if (is_unwritten(node) && is_read_unwritten(node, aliases)) {
      return std::string("it reads what no operation of libtorch has written: the ") +
          node->kind().toQualString() + " that makes " + form(node->output()) +
          ", which a kernel outside of libtorch has to have filled";
    }
  }
  return {};
}

static bool is_same(const at::Tensor& one, const at::Tensor& other) {
  return one.scalar_type() == other.scalar_type() && one.sizes() == other.sizes() &&
      at::allclose(one, other, /*rtol=*/0, /*atol=*/0, /*equal_nan=*/true);
}

// The graph run once more by the interpreter, without any optimization, has to give the step's output.
static std::string difference(
    const std::shared_ptr<jit::Graph>& graph,
    std::vector<c10::IValue> stack,
    const at::Tensor& output) {
  jit::Code code(graph, "forward");
  jit::InterpreterState(code).run(stack);
  return is_same(stack.back().toTensor(), output)
      ? std::string()
      : "the operations of libtorch in it give another output on the same inputs: some of its work "
        "is done outside of libtorch, or is random";
}

using Step = const at::Tensor* (*)(void* context);

static Trace record(std::vector<c10::IValue> inputs, Step step, void* context) {
  const at::NoGradGuard no_grad;
  at::Tensor output;
  std::string read;
  const auto run = [&](const jit::Stack&) -> jit::Stack {
    // Its warnings are about what is checked afterwards.
    const jit::tracer::NoWarn quiet;
    const Reads reads;
    const at::Tensor* result = step(context);
    TORCH_CHECK(result != nullptr, "the step that was to be traced failed");
    output = *result;
    TORCH_CHECK(
        jit::tracer::getTracingState()->hasValue(output),
        "the output of the step, ", description(output), ", comes from no operation on its inputs");
    read = reads.found();
    return {output};
  };
  const auto unnamed = [](const at::Tensor&) { return std::string(); };
  // Leaves the thread without a trace whatever happens.
  const auto [state, outputs] = jit::tracer::trace(inputs, run, unnamed);
  for (jit::Value* input : state->graph->inputs()) {
    // Whether someone else wants its gradient is no part of the step.
    input->setType(input->type()->expectRef<c10::TensorType>().withRequiresGrad(false));
  }
  jit::EliminateDeadCode(state->graph);
  jit::ConstantPooling(state->graph);
  Trace trace{jit::Canonicalize(state->graph, /*keep_unique_names=*/false), {}};
  trace.untraceable = read.empty() ? hidden_operations(trace.graph)
                                   : "it takes a number out of a tensor (" + read + ")";
  if (trace.untraceable.empty()) {
    trace.untraceable = difference(trace.graph, std::move(inputs), output);
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

static jit::Module module(const std::shared_ptr<jit::Graph>& graph) {
  jit::Module module("Step");
  const auto copy = graph->copy();
  copy->insertInput(0, "self")->setType(module._ivalue()->type());
  const c10::QualifiedName name(*module.type()->name(), "forward");
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(name, copy));
  return module;
}

} // namespace trace

// `step` gives the tensor that it made and keeps it alive, or null when it failed; it must not throw.
extern "C" Status ctn_trace_record(
    const at::Tensor* const* inputs,
    size_t count,
    trace::Step step,
    void* context,
    Trace** out) noexcept {
  return border::guard([&] {
    // libtorch would end the outer trace, too.
    TORCH_CHECK(!torch::jit::tracer::isTracing(), "a step is being traced on this thread already");
    trace::check_inputs(inputs, count);
    std::vector<c10::IValue> values;
    for (size_t index = 0; index < count; ++index) {
      values.emplace_back(*inputs[index]);
    }
    *out = new Trace(trace::record(std::move(values), step, context));
  });
}

extern "C" Status ctn_trace_text(const Trace* trace, char** out) noexcept {
  return border::guard([&] { *out = border::copy(trace::text(*trace->graph)).release(); });
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
    *out = border::copy(lines).release();
  });
}

extern "C" Status ctn_trace_untraceable(const Trace* trace, char** out) noexcept {
  return border::guard([&] { *out = border::copy(trace->untraceable).release(); });
}

extern "C" Status ctn_trace_save(const Trace* trace, const char* path, size_t length) noexcept {
  return border::guard([&] { trace::module(trace->graph).save(std::string(path, length)); });
}

extern "C" void ctn_trace_free(Trace* trace) noexcept {
  delete trace;
}
