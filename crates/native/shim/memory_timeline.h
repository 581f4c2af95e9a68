// The changes of a scope's memory over time, each with the operations that made it.
#pragma once

#include "border.h"
#include "operations.h"

#include <c10/core/Device.h>

#include <chrono>
#include <string>
#include <unordered_set>
#include <vector>

extern "C" {
struct MemoryEvent {
  uint64_t address;
  // Negative for a release.
  int64_t bytes;
  // Time since the scope began.
  uint64_t time_ns;
  // The CUDA device; negative for the host.
  int32_t device_index;
  // The result of `operations::stack`; valid only during the callback.
  Text operations;
};
}

namespace memory {

// The bytes that one report of the allocator released and allocated. Both are non-zero when an address is handed out
// again whose release was not seen.
struct Change {
  int64_t released;
  int64_t allocated;
};

// Every change of a scope's blocks, in order.
class Timeline {
 public:
  void add(void* block, Change change, c10::Device device) {
    const auto since = std::chrono::steady_clock::now() - begin_;
    Entry entry{
        reinterpret_cast<uint64_t>(block),
        -change.released,
        static_cast<uint64_t>(std::chrono::nanoseconds(since).count()),
        device.is_cuda() ? device.index() : -1,
        // Pointers to elements of an unordered_set stay valid when it grows.
        &*texts_.insert(operations::stack()).first};
    if (change.released > 0) {
      entries_.push_back(entry);
    }
    if (change.allocated > 0) {
      entry.bytes = change.allocated;
      entries_.push_back(entry);
    }
  }

  template <typename Show>
  void each(const Show& show) const {
    for (const auto& entry : entries_) {
      show(MemoryEvent{
          entry.address,
          entry.bytes,
          entry.time_ns,
          entry.device_index,
          {entry.operations->data(), entry.operations->size()}});
    }
  }

 private:
  struct Entry {
    uint64_t address;
    int64_t bytes;
    uint64_t time_ns;
    int32_t device_index;
    const std::string* operations;
  };

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::unordered_set<std::string> texts_;
  std::vector<Entry> entries_;
};

} // namespace memory
