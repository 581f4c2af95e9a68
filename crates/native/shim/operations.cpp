#include "operations.h"

#include <vector>

namespace operations {

namespace {

std::vector<std::string>& names() {
  thread_local std::vector<std::string> names;
  return names;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  names().emplace_back(function.name());
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {
  // The stack can be empty: when `begin` runs out of memory, libtorch only logs that and still calls `end`.
  if (!names().empty()) {
    names().pop_back();
  }
}

} // namespace

Listener::Listener()
    : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(begin, end).scopes(
          {at::RecordScope::FUNCTION,
           at::RecordScope::BACKWARD_FUNCTION,
           at::RecordScope::TORCHSCRIPT_FUNCTION,
           at::RecordScope::USER_SCOPE}))) {}

Listener::~Listener() {
  at::removeCallback(handle_);
}

std::string stack() {
  std::string lines;
  for (const auto& name : names()) {
    lines += lines.empty() ? "" : "\n";
    lines += name;
  }
  return lines;
}

} // namespace operations
