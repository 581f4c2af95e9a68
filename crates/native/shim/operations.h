// The names of the operations that a thread is in, for those who ask while somebody listens.
#pragma once

#include <ATen/record_function.h>

#include <string>

namespace operations {

// While it lives, names are kept on this thread and on those that inherit its state. Operations that have begun before
// have none.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  at::CallbackHandle handle_;
};

// The operations that the calling thread is in, the outermost first, a line for each; empty outside of every one.
std::string stack();

} // namespace operations
