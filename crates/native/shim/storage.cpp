// Moves the memory of tensors: same numbers, other addresses.
//
// A tensor, its views and other handles of it share one storage, and the storage alone knows the address. So a storage
// whose block is exchanged moves under all of them.
#include "border.h"
#include "tensor.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/Allocator.h>

#include <unordered_set>
#include <vector>

// The blocks that storages had before.
struct Blocks {
  std::vector<c10::DataPtr> held;
};

namespace {

c10::DataPtr copied(c10::StorageImpl& storage) {
  auto* allocator = storage.allocator();
  if (allocator == nullptr) {
    allocator = c10::GetAllocator(storage.device_type());
  }
  auto block = allocator->allocate(storage.nbytes());
  allocator->copy_data(block.get(), storage.data(), storage.nbytes());
  return block;
}

} // namespace

extern "C" Status ctn_storage_relocate(
    Tensors tensors,
    uint64_t* bytes,
    Handle* out) noexcept {
  return border::guard([&] {
    auto blocks = std::make_unique<Blocks>();
    std::unordered_set<const c10::StorageImpl*> seen;
    uint64_t moved = 0;
    for (const auto* tensor : tensors) {
      // A tensor in a layout of oneDNN's own has no storage that could be exchanged.
      if (!tensor->defined() || !tensor->has_storage()) {
        continue;
      }
      auto* storage = tensor->storage().unsafeGetStorageImpl();
      if (storage->nbytes() == 0 || !seen.insert(storage).second) {
        continue;
      }
      // Room first: what follows cannot throw, and a storage never loses its block.
      blocks->held.reserve(blocks->held.size() + 1);
      auto block = copied(*storage);
      blocks->held.push_back(storage->set_data_ptr(std::move(block)));
      moved += storage->nbytes();
    }
    *bytes = moved;
    *out = border::handle(std::move(blocks));
  });
}

extern "C" Status ctn_storage_meta(const at::Tensor* tensor, at::Tensor** out) noexcept {
  return border::guard([&] {
    *out = tensor::release(at::empty_like(*tensor, tensor->options().device(c10::DeviceType::Meta)));
  });
}
