// Throws on demand, so that tests can prove that nothing crosses the border. An object file of its own in the
// archive: a program that does not call it does not carry it.
#include "border.h"

#include <stdexcept>

extern "C" Status ctn_raise(int32_t what) noexcept {
  return border::guard([&] {
    switch (what) {
      case 0:
        return;
      case 1:
        TORCH_CHECK(false, "a check\nand its second line");
      case 2:
        TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 1 GiB.");
      case 3:
        throw std::bad_alloc();
      case 4:
        throw std::runtime_error("a runtime error");
      default:
        throw 42;
    }
  });
}
