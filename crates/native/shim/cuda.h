// The parts of CUDA that the shim uses without CUDA's headers.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <dlfcn.h>

#include <cstdint>

namespace cuda {

// Throws a c10::Error that says so when libtorch_cuda is not in the program.
void require_linked();

// The device, ready for use. Throws a c10::Error that says what is missing.
c10::Device device(int32_t index);

// The CUstream that libtorch queues this thread's work on.
void* current_stream(c10::Device device);

// The driver's own library, which libtorch_cuda has loaded. libtorch's generic interface tells neither a device's name
// nor its attributes, and the signatures of the functions that are called have not changed since CUDA 10.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    TORCH_CHECK(library_ != nullptr, "cannot load the CUDA driver: ", dlerror());
    call<unsigned>("cuInit", 0U);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  // The library is never unloaded: libtorch_cuda goes on using it.

  // Returns the function's result: 0, or an error code.
  template <typename... Arguments>
  int result(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    TORCH_CHECK(function != nullptr, "the CUDA driver has no ", name);
    return function(arguments...);
  }

  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const int code = result(name, arguments...);
    TORCH_CHECK(code == 0, name, " of the CUDA driver failed with code ", code);
  }

  // The driver's own handle of a device.
  int device(int32_t index) const {
    int handle = 0;
    call("cuDeviceGet", &handle, static_cast<int>(index));
    return handle;
  }

 private:
  void* library_;
};

} // namespace cuda
