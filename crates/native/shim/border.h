// The border between C++ and Rust: no exception crosses it.
//
// Every function of the shim has the form
//
//   extern "C" Status ctn_noun_verb(arguments…, T* out) {
//     return border::guard([&] { *out = …; });
//   }
//
// `out` is written only when the status is fine. The Rust file of the same name declares it.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>

extern "C" {
struct Status {
  // A `border::Kind`.
  int32_t kind;
  // From malloc, to be given back to `ctn_string_free`; null when fine, and when not even the message fits.
  char* message;
};

// An object for Rust to own, which frees it with `free`.
struct Handle {
  void* object;
  void (*free)(void* object);
};

// A text of Rust's, not ended by NUL.
struct Text {
  const char* first;
  size_t length;

  std::string str() const {
    return std::string(first, length);
  }
};
}

namespace border {

enum class Kind : int32_t { Fine = 0, OutOfMemory = 1, Torch = 2 };

// A copy for Rust, which gives it back to `ctn_string_free`.
char* copy(const std::string& text);

// For Rust to own.
template <typename T>
Handle handle(std::unique_ptr<T> object) noexcept {
  return {object.release(), [](void* given) { delete static_cast<T*>(given); }};
}

// Keeps the first line only: what follows in libtorch's messages is a backtrace or general advice.
Status failure(Kind kind, const char* message) noexcept;

template <typename Body>
Status guard(Body&& body) noexcept {
  try {
    body();
    return {static_cast<int32_t>(Kind::Fine), nullptr};
  } catch (const c10::OutOfMemoryError& error) {
    return failure(Kind::OutOfMemory, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    // Also the CPU allocator's out-of-memory, which only its text tells apart: Rust reads the text.
    return failure(Kind::Torch, error.what_without_backtrace());
  } catch (const std::bad_alloc& error) {
    return failure(Kind::OutOfMemory, error.what());
  } catch (const std::exception& error) {
    return failure(Kind::Torch, error.what());
  } catch (...) {
    return failure(Kind::Torch, "a C++ exception that is no std::exception");
  }
}

} // namespace border
