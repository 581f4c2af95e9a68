// STREAM's triad, a = b + s · c, as one operation. tch binds `add` without its factor.
#include "border.h"

#include <ATen/ops/add.h>

extern "C" Status ctn_triad(
    const at::Tensor* a,
    const at::Tensor* b,
    const at::Tensor* c,
    double scale) noexcept {
  return border::guard([&] {
    // libtorch would give `a` the size that it needs, or broadcast.
    TORCH_CHECK(
        a->sizes() == b->sizes() && b->sizes() == c->sizes(),
        "a triad of ", a->sizes(), ", ", b->sizes(), " and ", c->sizes());
    TORCH_CHECK(
        a->scalar_type() == b->scalar_type() && b->scalar_type() == c->scalar_type(),
        "a triad of ", a->scalar_type(), ", ", b->scalar_type(), " and ", c->scalar_type());
    // Another handle of the same tensor, because the operation wants one that it may change.
    at::Tensor result = *a;
    at::add_out(result, *b, *c, scale);
  });
}
