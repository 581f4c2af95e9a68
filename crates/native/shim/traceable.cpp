// Whether a trace is what its step did.
#include "traceable.h"

#include <ATen/Functions.h>
#include <ATen/TracerMode.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <unordered_set>

namespace traceable {

namespace jit = torch::jit;

thread_local std::string Reads::found_;

Reads::Reads() {
  found_.clear();
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&note).scopes({at::RecordScope::FUNCTION}));
}

Reads::~Reads() {
  at::removeCallback(handle_);
}

std::string Reads::reason() const {
  return found_.empty() ? std::string() : "it takes a number out of a tensor (" + found_ + ")";
}

std::unique_ptr<at::ObserverContext> Reads::note(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  // A value that an operation reads for itself is part of it, and the tracer is off inside of it.
  if ((name == "aten::_local_scalar_dense" || name == "aten::equal") &&
      at::tracer::impl::is_dispatch_enabled()) {
    found_ = name;
  }
  return nullptr;
}

static uint32_t version(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

Inputs::Inputs(const std::vector<c10::IValue>& inputs) {
  for (const auto& input : inputs) {
    inputs_.push_back(input.toTensor());
    versions_.push_back(version(inputs_.back()));
  }
}

std::string Inputs::written() const {
  for (size_t index = 0; index < inputs_.size(); ++index) {
    if (version(inputs_[index]) != versions_[index]) {
      return "it writes into its input " + std::to_string(index);
    }
  }
  return {};
}

std::string Inputs::given_back(const at::Tensor& output) const {
  for (size_t index = 0; index < inputs_.size(); ++index) {
    // A tensor without a storage has no views.
    const bool has_storage = output.has_storage() && inputs_[index].has_storage();
    if (output.is_same(inputs_[index]) || (has_storage && output.is_alias_of(inputs_[index]))) {
      return "its output is its input " + std::to_string(index) + ", or a view of it";
    }
  }
  return {};
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

using Values = std::unordered_set<const jit::Value*>;

// Whether the operation writes into one of the values, without reading any of them first.
static bool overwrites(const jit::Node* node, const Values& values) {
  static const std::unordered_set<std::string> kWriters{"aten::copy_", "aten::fill_", "aten::zero_"};
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) {
    return false;
  }
  bool overwritten = false;
  for (size_t index = 0; index < node->inputs().size(); ++index) {
    if (values.count(node->input(index)) == 0) {
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

// Whether the node does no more than see its inputs in another way: a view, or a list put together or taken apart.
static bool is_view(const jit::Node* node) {
  const auto* schema = node->maybeSchema();
  if (schema == nullptr || node->kind().is_prim()) {
    return node->kind().is_prim();
  }
  const auto& returns = schema->returns();
  return !schema->is_mutable() && std::all_of(returns.begin(), returns.end(), [](const auto& it) {
    return it.alias_info() != nullptr;
  });
}

// Whether something is read from the memory that `allocation` makes before any operation has written there. Followed
// view by view: libtorch's own analysis takes all that was ever in a list for one.
static bool is_read_unwritten(const jit::Node* allocation) {
  Values memory{allocation->output()};
  const auto is_there = [&](const jit::Value* value) { return memory.count(value) != 0; };
  for (const jit::Node* node = allocation->next(); node->kind() != c10::prim::Return;
       node = node->next()) {
    const auto inputs = node->inputs();
    if (std::none_of(inputs.begin(), inputs.end(), is_there) || reads_form_alone(node)) {
      continue;
    }
    if (overwrites(node, memory)) {
      return false;
    }
    if (!is_view(node)) {
      return true;
    }
    memory.insert(node->outputs().begin(), node->outputs().end());
  }
  const auto results = allocation->owningGraph()->outputs();
  return std::any_of(results.begin(), results.end(), is_there);
}

static std::string form(const jit::Value* value) {
  std::ostringstream text;
  text << *value->type();
  return text.str();
}

std::string hidden_operations(const std::shared_ptr<jit::Graph>& graph) {
  for (const jit::Node* node : graph->nodes()) {
    if (is_unwritten(node) && is_read_unwritten(node)) {
      return std::string("it reads what no operation of libtorch has written: the ") +
          node->kind().toQualString() + " that makes " + form(node->output()) +
          ", which a kernel outside of libtorch has to have filled";
    }
  }
  return {};
}

// Whether the numbers are equal, NaN to NaN. Block by block, because a comparison takes several times the memory of what
// it compares.
static bool is_same(const at::Tensor& one, const at::Tensor& other) {
  constexpr int64_t kBlock = 1 << 20;
  if (one.scalar_type() != other.scalar_type() || one.sizes() != other.sizes()) {
    return false;
  }
  const auto left = one.reshape({-1});
  const auto right = other.reshape({-1});
  for (int64_t start = 0; start < left.numel(); start += kBlock) {
    const auto count = std::min(kBlock, left.numel() - start);
    if (!at::allclose(
            left.narrow(0, start, count), right.narrow(0, start, count), /*rtol=*/0, /*atol=*/0,
            /*equal_nan=*/true)) {
      return false;
    }
  }
  return true;
}

std::string difference(
    const std::shared_ptr<jit::Graph>& graph,
    std::vector<c10::IValue> stack,
    const std::vector<at::Tensor>& outputs) {
  jit::Code code(graph, "forward");
  jit::InterpreterState(code).run(stack);
  const bool same = std::equal(
      outputs.begin(), outputs.end(), stack.end() - static_cast<std::ptrdiff_t>(outputs.size()),
      [](const at::Tensor& output, const c10::IValue& again) {
        return is_same(again.toTensor(), output);
      });
  return same
      ? std::string()
      : "the operations of libtorch in it give another output on the same inputs: some of its work "
        "is done outside of libtorch, or is random";
}

} // namespace traceable
