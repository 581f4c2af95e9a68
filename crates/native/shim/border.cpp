#include "border.h"

#include <cstring>

namespace border {

// malloc and not new: a C string of the shim has one way of being freed.
static char* copy_bytes(const char* text, size_t length) noexcept {
  auto* bytes = static_cast<char*>(std::malloc(length + 1));
  if (bytes != nullptr) {
    std::memcpy(bytes, text, length);
    bytes[length] = '\0';
  }
  return bytes;
}

char* copy(const std::string& text) {
  char* bytes = copy_bytes(text.c_str(), text.size());
  if (bytes == nullptr) {
    throw std::bad_alloc();
  }
  return bytes;
}

Status failure(Kind kind, const char* message) noexcept {
  return {static_cast<int32_t>(kind), copy_bytes(message, std::strcspn(message, "\n"))};
}

} // namespace border

extern "C" void ctn_string_free(char* text) noexcept {
  std::free(text);
}
