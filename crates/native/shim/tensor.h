// tch's tensors on this side of the border.
//
// tch's `C_tensor` is an `at::Tensor`: a `tch::Tensor` owns one that came from `new`, and deletes it when dropped.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>

// Tensors of Rust's, in a row.
extern "C" {
struct Tensors {
  const at::Tensor* const* first;
  size_t count;

  const at::Tensor* const* begin() const {
    return first;
  }
  const at::Tensor* const* end() const {
    return first + count;
  }
};
}

namespace tensor {

// For tch to own.
inline at::Tensor* release(at::Tensor&& result) {
  return new at::Tensor(std::move(result));
}

// Null is none. Counts as one more holder while it lives.
inline std::optional<at::Tensor> optional(const at::Tensor* given) {
  return given == nullptr ? std::nullopt : std::optional<at::Tensor>(*given);
}

} // namespace tensor
