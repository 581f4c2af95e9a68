// CUDA graphs: work that is captured once and replayed by one launch.
//
// The graph is libtorch's own, at::cuda::CUDAGraph, which gives the captured work a private memory pool. Its header
// needs CUDA's, and libtorch_cuda must not be named to the linker (see cuda.cpp), so the members are looked up by their
// mangled names and the object is constructed in a buffer that is large enough for it (`kRoom`).
#include "border.h"
#include "cuda.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <memory>

namespace cuda {

// cudaStreamCaptureModeThreadLocal: calls of other threads, such as reading the device's clock, do not invalidate the
// capture. torch.compile uses the same mode.
constexpr unsigned kThreadLocal = 1;

// The members of at::cuda::CUDAGraph, as ATen/cuda/CUDAGraph.h declares them. An enumeration is passed as its integer.
struct GraphClass {
  void (*construct)(void* graph, bool keep_graph);
  void (*destroy)(void* graph);
  void (*capture_begin)(void* graph, c10::MempoolId_t pool, unsigned mode);
  void (*capture_end)(void* graph);
  c10::MempoolId_t (*pool)(void* graph);
  void (*replay)(void* graph);

  // Throws a c10::Error that names what this libtorch lacks.
  static GraphClass find() {
    GraphClass found{};
    look_up("_ZN2at4cuda9CUDAGraphC1Eb", found.construct);
    look_up("_ZN2at4cuda9CUDAGraphD1Ev", found.destroy);
    look_up(
        "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode",
        found.capture_begin);
    look_up("_ZN2at4cuda9CUDAGraph11capture_endEv", found.capture_end);
    look_up("_ZN2at4cuda9CUDAGraph4poolEv", found.pool);
    look_up("_ZN2at4cuda9CUDAGraph6replayEv", found.replay);
    return found;
  }

 private:
  template <typename Function>
  static void look_up(const char* name, Function& out) {
    out = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    TORCH_CHECK(out != nullptr, "this libtorch_cuda has no at::cuda::CUDAGraph (", name, ")");
  }
};

// The object takes 104 bytes in libtorch 2.11.
struct alignas(std::max_align_t) Room {
  std::array<std::byte, 512> bytes{};
};

// libtorch warns of an empty graph, which is what replaces a failed capture.
struct Silent final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

static void synchronize(c10::Device device) {
  at::detail::getCUDAHooks().deviceSynchronize(device.index());
}

static uint64_t reserved_bytes(c10::Device device) {
  const auto stats =
      c10::getDeviceAllocator(c10::DeviceType::CUDA)->getDeviceStats(device.index());
  return static_cast<uint64_t>(stats.reserved_bytes[0].current);
}

} // namespace cuda

// Must not be moved: it contains libtorch's graph object, which has to keep its address.
struct CudaGraph {
  CudaGraph(const cuda::GraphClass& members, c10::Device device)
      : members_(members),
        device_(device),
        stream_(
            c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)) {
    const c10::DeviceGuard on(device_);
    members_.construct(object(), /*keep_graph=*/false);
  }
  ~CudaGraph() {
    if (room_ != nullptr) {
      members_.destroy(object());
    }
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Runs `step` on the side stream; waits for the device before and after it.
  template <typename Step>
  void aside(const Step& step) {
    cuda::synchronize(device_);
    {
      const c10::StreamGuard on(stream_);
      step();
    }
    cuda::synchronize(device_);
  }

  // Captures the work that `step` queues without running it. Returns the bytes of device memory that the graph's pool
  // took.
  template <typename Step>
  uint64_t capture(const Step& step) {
    // Free blocks belong to other pools; the graph's pool cannot reuse them, so it always reserves new memory.
    const uint64_t before = cuda::reserved_bytes(device_);
    aside([&] {
      try {
        members_.capture_begin(object(), {0, 0}, cuda::kThreadLocal);
        step();
        members_.capture_end(object());
      } catch (...) {
        end_failed();
        throw;
      }
    });
    const uint64_t after = cuda::reserved_bytes(device_);
    return after > before ? after - before : 0;
  }

  // Replays on the device's current stream.
  void replay() {
    members_.replay(object());
  }

 private:
  void* object() {
    return room_->bytes.data();
  }

  // Whether libtorch took the end of the capture for a good one. The destructor gives the pool back only then.
  bool has_ended() {
    try {
      members_.pool(object());
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }

  // Leaves nothing of a failed capture behind. Where the stream's capture is broken, libtorch's capture_end throws before
  // it ends what else has begun: the pools of the device's and the host's allocator, which would look for the capture at
  // every later allocation, and the share of the random generator, which would refuse to work outside of a capture.
  // So the broken capture is dropped, and an empty one is begun in its place, which capture_end can end.
  void end_failed() noexcept {
    if (has_ended()) {
      // The capture was fine; it could not be made a graph to launch.
      return;
    }
    try {
      cuda::Silent silent;
      const c10::WarningUtils::WarningHandlerGuard quiet(&silent);
      const cuda::Driver driver;
      drop(driver);
      driver.call("cuStreamBeginCapture_v2", stream_.native_handle(), cuda::kThreadLocal);
      try {
        members_.capture_end(object());
      } catch (...) {
        drop(driver);
        throw;
      }
      return;
    } catch (const c10::Error& error) {
      TORCH_WARN(
          "a capture of a CUDA graph failed and cannot be ended, so that the times of later cases in this process may be "
          "too long: ",
          error.what_without_backtrace());
    }
    // The allocators go on asking the object which streams it captures, so it has to stay.
    static_cast<void>(room_.release());
  }

  // Ends the capture of the stream, if there is one. A broken one ends with an error.
  void drop(const cuda::Driver& driver) {
    void* graph = nullptr;
    driver.result("cuStreamEndCapture", stream_.native_handle(), &graph);
    if (graph != nullptr) {
      driver.result("cuGraphDestroy", graph);
    }
  }

  cuda::GraphClass members_;
  c10::Device device_;
  c10::Stream stream_;
  // Empty once a capture could not be ended.
  std::unique_ptr<cuda::Room> room_ = std::make_unique<cuda::Room>();
};

// A step written in Rust. It returns false when it failed, and must not unwind.
using GraphStep = bool (*)(void* context);

static void call(GraphStep step, void* context) {
  // The Rust side keeps the step's own error and reports that one.
  TORCH_CHECK(step(context), "the step failed");
}

extern "C" Status ctn_cuda_graph_new(int32_t device_index, Handle* out) noexcept {
  return border::guard([&] {
    cuda::require_linked();
    // Looked up before the device, so that a missing member is noticed on machines without a device, too.
    const auto members = cuda::GraphClass::find();
    *out = border::handle(std::make_unique<CudaGraph>(members, cuda::device(device_index)));
  });
}

extern "C" Status ctn_cuda_graph_warm_up(
    CudaGraph* graph,
    GraphStep step,
    void* context) noexcept {
  return border::guard([&] { graph->aside([&] { call(step, context); }); });
}

extern "C" Status ctn_cuda_graph_capture(
    CudaGraph* graph,
    GraphStep step,
    void* context,
    uint64_t* pool_bytes) noexcept {
  return border::guard([&] { *pool_bytes = graph->capture([&] { call(step, context); }); });
}

extern "C" Status ctn_cuda_graph_replay(CudaGraph* graph) noexcept {
  return border::guard([&] { graph->replay(); });
}
