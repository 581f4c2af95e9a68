// Functions of TorchScript's language, compiled from source and run by its interpreter.
#include "border.h"
#include "tensor.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/codegen/onednn/interface.h>
#include <torch/csrc/jit/passes/pass_manager.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/jit.h>

#include <string_view>

struct Script {
  std::shared_ptr<torch::jit::CompilationUnit> unit;
};

struct ScriptFunction {
  // Owns the function.
  std::shared_ptr<torch::jit::CompilationUnit> unit;
  torch::jit::GraphFunction* function;
  size_t inputs;
};

namespace script {

static std::string on_one_line(std::string_view text) {
  std::string line;
  bool gap = false;
  for (const char letter : text) {
    if (letter == ' ' || letter == '\n') {
      gap = true;
    } else {
      line.append(gap && !line.empty() ? " " : "").push_back(letter);
      gap = false;
    }
  }
  return line;
}

// TorchScript's messages take many lines, and the first is empty or the same for all. The compiler's begin with what is
// wrong, then show where; the interpreter's end with what was wrong, after the names of the functions it was in.
static std::string condensed(std::string_view text) {
  constexpr std::string_view kPlace = "\n  File \"<string>\", ";
  constexpr std::string_view kMark = " <--- HERE";
  constexpr std::string_view kRaised = "\nRuntimeError: ";
  const size_t mark = text.rfind(kMark);
  const size_t raised = mark == text.npos ? text.npos : text.find(kRaised, mark);
  if (raised != text.npos) {
    return std::string(text.substr(raised + kRaised.size()));
  }
  const size_t place = text.find(kPlace);
  if (place == text.npos) {
    return on_one_line(text);
  }
  const std::string_view where = text.substr(place + kPlace.size());
  std::string line = on_one_line(text.substr(0, place));
  line.erase(line.find_last_not_of(" :") + 1);
  line.append(" (").append(where.substr(0, where.find('\n'))).append(")");
  return line;
}

// A border::guard for code that throws TorchScript's exceptions.
template <typename Body>
static Status guard(Body&& body) noexcept {
  return border::guard([&] {
    try {
      body();
    } catch (const torch::jit::JITException& error) {
      // Raised by the script itself.
      throw std::runtime_error(error.getOriginalMsg().value_or(error.what()));
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error& error) {
      throw std::runtime_error(condensed(error.what_without_backtrace()));
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(condensed(error.what()));
    }
  });
}

// A function is run without comparing what it is given with its schema, so it may only take and return tensors.
static void check_schema(const c10::FunctionSchema& schema) {
  for (const auto& argument : schema.arguments()) {
    TORCH_CHECK(
        argument.type()->kind() == c10::TypeKind::TensorType,
        "`", argument.name(), "` has to be a Tensor: ", schema);
  }
  TORCH_CHECK(
      schema.returns().size() == 1 &&
          schema.returns()[0].type()->kind() == c10::TypeKind::TensorType,
      "it has to return a Tensor: ", schema);
}

static at::Tensor run(const ScriptFunction& function, Tensors inputs) {
  TORCH_CHECK(
      inputs.count == function.inputs, function.function->name(), " takes ", function.inputs,
      " tensors, not ", inputs.count);
  torch::jit::Stack stack;
  stack.reserve(inputs.count);
  for (const auto* input : inputs) {
    stack.emplace_back(*input);
  }
  function.function->run(stack);
  return std::move(stack.back()).toTensor();
}

// Whether what this thread optimizes goes through oneDNN Graph first. libtorch has one list of passes for the process,
// without a lock; so the pass is put there once, before there is anything to optimize, and asks the thread that runs it.
static thread_local bool with_onednn = false;

static void register_onednn() {
  static const auto pass = torch::jit::registerPrePass([](std::shared_ptr<torch::jit::Graph>& graph) {
    if (with_onednn) {
      torch::jit::fuser::onednn::fuseGraph(graph);
    }
  });
  static_cast<void>(pass);
}

class OnednnScope {
 public:
  explicit OnednnScope(bool on) : before_(with_onednn) {
    with_onednn = on;
  }
  ~OnednnScope() {
    with_onednn = before_;
  }
  OnednnScope(const OnednnScope&) = delete;
  OnednnScope& operator=(const OnednnScope&) = delete;

 private:
  const bool before_;
};

static void list(const torch::jit::Block* block, std::string& lines, const char* separator) {
  for (const torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant) {
      continue;
    }
    lines.append(lines.empty() || lines.back() == '(' ? "" : separator);
    lines.append(node->kind().toQualString());
    if (node->hasAttribute(c10::attr::Subgraph)) {
      lines.push_back('(');
      list(node->g(c10::attr::Subgraph)->block(), lines, ", ");
      lines.push_back(')');
    }
    for (const torch::jit::Block* inner : node->blocks()) {
      list(inner, lines, separator);
    }
  }
}

} // namespace script

extern "C" Status ctn_script_compile(Text source, Handle* out) noexcept {
  return script::guard([&] {
    script::register_onednn();
    // The parser wants the last line ended.
    *out = border::handle(
        std::make_unique<Script>(Script{torch::jit::compile(source.str() + "\n")}));
  });
}

extern "C" Status ctn_script_function(
    const Script* script,
    Text name,
    Handle* out) noexcept {
  return script::guard([&] {
    const std::string wanted = name.str();
    auto* found = script->unit->find_function(c10::QualifiedName(wanted));
    TORCH_CHECK(found != nullptr, "the script has no function `", wanted, "`");
    script::check_schema(found->getSchema());
    *out = border::handle(std::make_unique<ScriptFunction>(ScriptFunction{
        script->unit, &torch::jit::toGraphFunction(*found), found->getSchema().arguments().size()}));
  });
}

extern "C" Status ctn_script_run(
    const ScriptFunction* function,
    Tensors inputs,
    at::Tensor** out) noexcept {
  return script::guard([&] { *out = tensor::release(script::run(*function, inputs)); });
}

// Runs the function until libtorch has optimized it. `onednn`: with oneDNN Graph.
extern "C" Status ctn_script_optimize(
    const ScriptFunction* function,
    Tensors inputs,
    bool onednn) noexcept {
  return script::guard([&] {
    auto& executor = function->function->get_executor();
    TORCH_CHECK(!executor.isOptimized(), function->function->name(), " is optimized already");
    const script::OnednnScope scope(onednn);
    for (size_t run = 0; run <= torch::jit::getNumProfiledRuns(); ++run) {
      script::run(*function, inputs);
    }
    TORCH_CHECK(
        executor.isOptimized(), function->function->name(), " was not optimized by its run after ",
        torch::jit::getNumProfiledRuns(), " profiled ones: is TorchScript's optimizer off?");
  });
}

// One node per line, depth first; a subgraph in parentheses behind the node that runs it.
extern "C" Status ctn_script_optimized_graph(const ScriptFunction* function, char** out) noexcept {
  return script::guard([&] {
    auto& executor = function->function->get_executor();
    TORCH_CHECK(executor.isOptimized(), function->function->name(), " is not optimized yet");
    const auto state = executor.getDebugState();
    std::string lines;
    for (const auto& [arguments, plan] : state.execution_plans) {
      script::list(plan.graph->block(), lines, "\n");
    }
    *out = border::copy(lines);
  });
}
