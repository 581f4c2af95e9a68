// Memory of tensors on the host, each block between pages that nobody may touch.
#include "border.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <sys/mman.h>
#include <unistd.h>

namespace fence {

// Every block of libtorch's own begins at a multiple of it.
constexpr size_t kAlignment = 64;

size_t page() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t rounded(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// A mapping: a page with its size, one that nobody may touch, the block at the end of its pages, and another one that
// nobody may touch.
void release(void* block) {
  if (block == nullptr) {
    return;
  }
  auto first = reinterpret_cast<uintptr_t>(block) / page() * page();
  auto* mapping = reinterpret_cast<size_t*>(first - 2 * page());
  munmap(mapping, *mapping);
}

class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    auto of = [](void* block) { return c10::DataPtr{block, block, &release, c10::Device(c10::kCPU)}; };
    if (bytes == 0) {
      return of(nullptr);
    }
    auto room = rounded(bytes, page());
    auto whole = room + 3 * page();
    auto* mapping = static_cast<char*>(
        mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    TORCH_CHECK(mapping != MAP_FAILED, "no memory for ", bytes, " bytes between guard pages");
    auto* pages = mapping + 2 * page();
    auto writable = PROT_READ | PROT_WRITE;
    if (mprotect(mapping, page(), writable) != 0 || mprotect(pages, room, writable) != 0) {
      munmap(mapping, whole);
      TORCH_CHECK(false, "no memory for ", bytes, " bytes between guard pages");
    }
    *reinterpret_cast<size_t*>(mapping) = whole;
    return of(pages + room - rounded(bytes, kAlignment));
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return &release;
  }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

} // namespace fence

extern "C" Status ctn_fence_tensors() noexcept {
  return border::guard([] {
    static fence::Allocator allocator;
    c10::SetCPUAllocator(&allocator, 1);
  });
}
