// Work on the threads that torch's own operators run on.
#include "border.h"

#include <ATen/Parallel.h>

// Without it at::parallel_for would compile, too, and run everything on the calling thread.
#if AT_PARALLEL_OPENMP && !defined(_OPENMP)
#error "libtorch's threads are those of OpenMP, which the compiler was not told to use"
#endif

extern "C" Status ctn_parallel_for(
    int64_t parts,
    void (*work)(void* context, int64_t part),
    void* context) noexcept {
  return border::guard([&] {
    // With a grain of one, as many threads as there are parts take one each, in their order.
    at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        work(context, part);
      }
    });
  });
}
