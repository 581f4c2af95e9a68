// Checks shim/cuda_graph.cpp's declarations of CUDA against CUDA's headers.
#include <ATen/cuda/CUDAGraph.h>
#include <cuda.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

static_assert(sizeof(at::cuda::CUDAGraph) == 104, "the shim says 104 bytes");
static_assert(alignof(at::cuda::CUDAGraph) <= alignof(std::max_align_t));
static_assert(cudaStreamCaptureModeThreadLocal == 1);
static_assert(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL == 1);

// The header's name of a function may be a macro for that of its version.
#define NAME(function) NAME_(function)
#define NAME_(function) #function
static_assert(std::string_view(NAME(cuStreamBeginCapture)) == "cuStreamBeginCapture_v2");
static_assert(std::string_view(NAME(cuStreamEndCapture)) == "cuStreamEndCapture");
static_assert(std::string_view(NAME(cuGraphDestroy)) == "cuGraphDestroy");

template <typename... Arguments>
using Function = CUresult(Arguments...);
static_assert(std::is_same_v<
              decltype(cuStreamBeginCapture),
              Function<CUstream, CUstreamCaptureMode>>);
static_assert(std::is_same_v<decltype(cuStreamEndCapture), Function<CUstream, CUgraph*>>);
static_assert(std::is_same_v<decltype(cuGraphDestroy), Function<CUgraph>>);
