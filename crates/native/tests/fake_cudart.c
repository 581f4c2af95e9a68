// A CUDA runtime and driver without a device, which a program loads before the real ones, so that libtorch_cuda runs on
// any machine: memory is the host's, kernels do nothing, and a test breaks captures as work that waits for the device
// does.
#include <driver_types.h>

#include <stdlib.h>
#include <string.h>

// A function that only returns 0, whatever its parameters.
#define FINE(name) \
  int name() { \
    return 0; \
  }
FINE(cuInit)
FINE(cudaDeviceSynchronize)
FINE(cudaEventCreateWithFlags)
FINE(cudaEventDestroy)
FINE(cudaEventQuery)
FINE(cudaEventRecord)
FINE(cudaEventSynchronize)
FINE(cudaFreeHost)
FINE(cudaFuncSetAttribute)
FINE(cudaGetLastError)
FINE(cudaGraphDestroy)
FINE(cudaGraphExecDestroy)
FINE(cudaGraphInstantiateWithFlags)
FINE(cudaGraphLaunch)
FINE(cudaLaunchKernel)
FINE(cudaPeekAtLastError)
FINE(cudaSetDevice)
FINE(cudaStreamQuery)
FINE(cudaStreamSynchronize)
FINE(cudaStreamWaitEvent)
FINE(cudaThreadExchangeStreamCaptureMode)
FINE(cuGraphDestroy)

// A function that returns a number.
#define NUMBER(name, value) \
  int name(int* out) { \
    *out = value; \
    return 0; \
  }
NUMBER(cudaDeviceCanAccessPeer, 0)
NUMBER(cudaDeviceGetAttribute, 1)
NUMBER(cudaDriverGetVersion, 13000)
NUMBER(cudaGetDevice, 0)
NUMBER(cudaGetDeviceCount, 1)
NUMBER(cudaOccupancyMaxActiveBlocksPerMultiprocessor, 2)

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return 0;
}

int cudaGetDeviceProperties(struct cudaDeviceProp* out) {
  memset(out, 0, sizeof *out);
  out->major = 9;
  out->warpSize = 32;
  out->multiProcessorCount = 1;
  out->maxThreadsPerBlock = 1024;
  out->maxThreadsPerMultiProcessor = 2048;
  out->maxGridSize[0] = out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  return 0;
}

int cudaFuncGetAttributes(struct cudaFuncAttributes* out) {
  memset(out, 0, sizeof *out);
  out->maxThreadsPerBlock = 1024;
  return 0;
}

// Memory.
int cudaMalloc(void** out, size_t bytes) {
  *out = aligned_alloc(512, (bytes + 511) / 512 * 512);
  return *out == NULL ? cudaErrorMemoryAllocation : 0;
}
int cudaHostAlloc(void** out, size_t bytes) {
  return cudaMalloc(out, bytes);
}
int cudaFree(void* memory) {
  free(memory);
  return 0;
}
int cudaMemGetInfo(size_t* available, size_t* total) {
  *available = *total = (size_t)1 << 34;
  return 0;
}
int cudaMemcpyAsync(void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);
  return 0;
}
int cudaMemsetAsync(void* to, int value, size_t bytes) {
  memset(to, value, bytes);
  return 0;
}

// Streams, and the capture of one of them.
static size_t streams = 0;
static void* capturing = NULL;
static int status = cudaStreamCaptureStatusNone;
static unsigned long long captures = 0;
static int queries = 0;

int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return 0;
}
int cudaStreamCreateWithPriority(void** out) {
  *out = (void*)(16 * ++streams);
  return 0;
}
int cudaStreamGetPriority(void* stream, int* out) {
  *out = 0;
  return 0;
}

int cudaStreamBeginCapture(void* stream) {
  if (status != cudaStreamCaptureStatusNone) {
    return cudaErrorStreamCaptureUnsupported;
  }
  capturing = stream;
  status = cudaStreamCaptureStatusActive;
  ++captures;
  return 0;
}
int cudaStreamEndCapture(void* stream, void** graph) {
  const int ended = status;
  status = cudaStreamCaptureStatusNone;
  *graph = NULL;
  switch (ended) {
    case cudaStreamCaptureStatusActive:
      *graph = &captures;
      return 0;
    case cudaStreamCaptureStatusInvalidated:
      return cudaErrorStreamCaptureInvalidated;
    default:
      return cudaErrorIllegalState;
  }
}
int cudaStreamGetCaptureInfo(void* stream, int* out, unsigned long long* id) {
  ++queries;
  *out = stream == capturing ? status : cudaStreamCaptureStatusNone;
  if (id != NULL) {
    *id = captures;
  }
  return 0;
}
int cudaStreamIsCapturing(void* stream, int* out) {
  return cudaStreamGetCaptureInfo(stream, out, NULL);
}
int cudaGraphGetNodes(void* graph, void* nodes, size_t* count) {
  *count = 1;
  return 0;
}
int cuStreamBeginCapture_v2(void* stream) {
  return cudaStreamBeginCapture(stream);
}
int cuStreamEndCapture(void* stream, void** graph) {
  return cudaStreamEndCapture(stream, graph);
}

// For the test.
void fake_break_capture(void) {
  status = cudaStreamCaptureStatusInvalidated;
}

// How often the state of a capture was asked since the last call.
int fake_queries(void) {
  const int asked = queries;
  queries = 0;
  return asked;
}
