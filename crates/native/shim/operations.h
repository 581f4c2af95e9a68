// Keeps the names of the operations that a thread is in, while a `Listener` is alive.
#pragma once

#include <ATen/record_function.h>

#include <string>

namespace operations {

// While it lives, names are kept on this thread and on threads that inherit its state. Operations that began before are
// not in the list.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  at::CallbackHandle handle_;
};

// The operations that the calling thread is in, the outermost first, one per line; empty outside of operations.
std::string stack();

} // namespace operations
