// The parts of CUDA that the shim uses without CUDA's headers.
#pragma once

#include <c10/core/Device.h>

namespace cuda {

// Throws a c10::Error that says so when libtorch_cuda is not in the program.
void require_linked();

// The device, ready for use. Throws a c10::Error that says what is missing.
c10::Device device(int32_t index);

} // namespace cuda
