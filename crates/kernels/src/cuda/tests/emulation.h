// Executes a kernel on the CPU, for tests: in place of ptx.cuh, in front of the prelude. Each thread
// of a block is a fiber; they take turns where they wait for each other. Built with sanitizers, so
// that an access outside an array or at a wrong multiple ends the program.
//
//   emulate NAME BLOCKS_X BLOCKS_Y THREADS ARGUMENT…
//
// ARGUMENT is `int:VALUE`, `in:BYTES` (an array, read from standard input), `out:BYTES` (an array,
// all ones before, written to standard output after), `inout:BYTES` (both) or `null`. After an array
// may stand `@OFFSET`: what the kernel gets begins so many bytes into it.
#include <dlfcn.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

using std::max;
using std::min;

struct Index {
  unsigned x, y;
};
static Index threadIdx, blockIdx, blockDim, gridDim;

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

namespace emulation {

constexpr unsigned kWarp = 32;

constexpr size_t kStack = 1 << 18;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStack]};
  bool done = false;
};

// Whether anything has happened since it was last set back: a thread that ends, or a meeting.
static bool moved;

// A place where a number of threads wait for each other.
struct Meeting {
  unsigned arrived = 0;
  unsigned round = 0;
};

struct Warp {
  Meeting meeting;
  float values[kWarp];
  float a[16][16];
  float b[16][8];
};

static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static std::vector<Warp> warps;
static Meeting block;

static void wait(Meeting& meeting, size_t count) {
  const unsigned round = meeting.round;
  if (++meeting.arrived == count) {
    meeting.arrived = 0;
    ++meeting.round;
    moved = true;
  }
  while (meeting.round == round) {
    swapcontext(&fibers[threadIdx.x].context, &scheduler);
  }
}

[[noreturn]] static void fail(const std::string& what) {
  std::fprintf(stderr, "emulate: %s\n", what.c_str());
  std::exit(2);
}

static Warp& warp() {
  return warps[threadIdx.x / kWarp];
}

static unsigned lane() {
  return threadIdx.x % kWarp;
}

} // namespace emulation

static void __syncthreads() {
  emulation::wait(emulation::block, emulation::fibers.size());
}

[[maybe_unused]] static float __shfl_xor_sync(unsigned, float value, int mask) {
  emulation::Warp& warp = emulation::warp();
  warp.values[emulation::lane()] = value;
  emulation::wait(warp.meeting, emulation::kWarp);
  const float other = warp.values[emulation::lane() ^ mask];
  emulation::wait(warp.meeting, emulation::kWarp);
  return other;
}

static float __uint_as_float(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static unsigned float_bits(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// --- What ptx.cuh has ---------------------------------------------------------------------------

struct BFloat16 {
  unsigned short bits;
};
struct Half {
  unsigned short bits;
};

static float to_float(BFloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

static void from_float(float value, BFloat16& out) {
  const unsigned bits = float_bits(value);
  if (std::isnan(value)) {
    out.bits = 0x7FC0;
    return;
  }
  out.bits = static_cast<unsigned short>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

// Through the definition of the format: a sign, 5 bits of exponent, 10 of mantissa.
static float to_float(Half value) {
  const int exponent = value.bits >> 10 & 31;
  const float mantissa = static_cast<float>(value.bits & 1023);
  const float magnitude = exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
      : exponent == 0                    ? std::ldexp(mantissa, -24)
                                         : std::ldexp(1024 + mantissa, exponent - 25);
  return value.bits & 0x8000 ? -magnitude : magnitude;
}

// The nearest of the two neighbours, found among all positive numbers, which are in order.
static void from_float(float value, Half& out) {
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    out.bits = 0x7E00;
    return;
  }
  unsigned short low = 0, high = 0x7C00;
  while (high - low > 1) {
    const unsigned short middle = (low + high) / 2;
    (to_float(Half{middle}) <= magnitude ? low : high) = middle;
  }
  // The distance to infinity is that to the number that would follow the largest.
  const float above = high == 0x7C00 ? 65536.0f : to_float(Half{high});
  const float down = magnitude - to_float(Half{low}), up = above - magnitude;
  const bool is_up = up < down || (up == down && low % 2 == 1);
  out.bits = (is_up ? high : low) | (std::signbit(value) ? 0x8000 : 0);
}

template <class T>
static unsigned from_floats(float low, float high, T) {
  T pair[2];
  from_float(low, pair[0]);
  from_float(high, pair[1]);
  return pair[0].bits | static_cast<unsigned>(pair[1].bits) << 16;
}

[[maybe_unused]] static void store_16(void* to, uint4 words) {
  *reinterpret_cast<uint4*>(to) = words;
}

static float power_of_two(float value) {
  const float power = std::exp2(value);
  return power < 0x1p-126f ? 0.0f : power;
}

static float reciprocal(float value) {
  return 1.0f / value;
}

// As the PTX manual gives the fragments of mma.m16n8k16: element i of a, b and d.
template <class T>
static void multiply_add(
    float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], T) {
  const auto element = [](const unsigned* words, unsigned i) {
    return to_float(T{static_cast<unsigned short>(words[i / 2] >> (16 * (i % 2)))});
  };
  emulation::Warp& warp = emulation::warp();
  const unsigned group = emulation::lane() / 4, in_group = emulation::lane() % 4;
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned row = i < 2 || (4 <= i && i < 6) ? group : group + 8;
    const unsigned column = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
    warp.a[row][column] = element(a, i);
  }
  for (unsigned i = 0; i < 4; ++i) {
    warp.b[in_group * 2 + (i & 1) + (i < 2 ? 0 : 8)][group] = element(b, i);
  }
  emulation::wait(warp.meeting, emulation::kWarp);
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned k = 0; k < 16; ++k) {
      d[i] += warp.a[i < 2 ? group : group + 8][k] * warp.b[k][in_group * 2 + (i & 1)];
    }
  }
  emulation::wait(warp.meeting, emulation::kWarp);
}

// --- The program --------------------------------------------------------------------------------

namespace emulation {

// Integers and pointers are passed alike, and a function does not look at those it has no
// parameter for.
using Word = std::intptr_t;
using Kernel = void (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
static Kernel kernel;
static Word words[12];

static void run_fiber() {
  const Word* w = words;
  kernel(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
  fibers[threadIdx.x].done = true;
  moved = true;
}

// Until all its threads wait for other warps: as far ahead of them as a device might run it, so that
// a missing __syncthreads is noticed.
static void run_warp(unsigned first) {
  const Meeting& meeting = warps[first / kWarp].meeting;
  unsigned round;
  do {
    round = meeting.round;
    for (unsigned thread = first; thread < first + kWarp; ++thread) {
      if (!fibers[thread].done) {
        threadIdx = {thread, 0};
        swapcontext(&scheduler, &fibers[thread].context);
      }
    }
  } while (meeting.round != round);
}

static void run_block(unsigned threads) {
  fibers.resize(threads);
  warps = std::vector<Warp>(threads / kWarp);
  block = Meeting();
  for (Fiber& fiber : fibers) {
    fiber.done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, run_fiber, 0);
  }
  // Now the first warp is ahead of the others, now the last.
  bool is_forward = blockIdx.x % 2 == 0;
  while (std::any_of(fibers.begin(), fibers.end(), [](auto& fiber) { return !fiber.done; })) {
    moved = false;
    for (unsigned i = 0; i < threads; i += kWarp) {
      run_warp(is_forward ? i : threads - kWarp - i);
    }
    is_forward = !is_forward;
    if (!moved) {
      fail("threads wait for others that do not come");
    }
  }
}

} // namespace emulation

int main(int count, char** arguments) {
  using namespace emulation;
  if (count < 5 || count > 17) {
    fail("NAME BLOCKS_X BLOCKS_Y THREADS ARGUMENT…");
  }
  kernel = reinterpret_cast<Kernel>(dlsym(RTLD_DEFAULT, arguments[1]));
  if (kernel == nullptr) {
    fail(std::string("no kernel ") + arguments[1]);
  }
  std::vector<std::vector<char>> arrays;
  std::vector<size_t> outputs;
  for (int i = 5; i < count; ++i) {
    const std::string argument = arguments[i];
    const size_t colon = argument.find(':');
    const std::string kind = argument.substr(0, colon);
    const size_t at = argument.find('@');
    const auto number = [&argument](size_t before) {
      return before == std::string::npos ? 0 : std::atoll(argument.c_str() + before + 1);
    };
    const long long value = number(colon);
    Word& word = words[i - 5];
    if (kind == "int") {
      word = static_cast<Word>(value);
    } else if (kind == "in" || kind == "out" || kind == "inout") {
      std::vector<char>& array = arrays.emplace_back(static_cast<size_t>(value), '\xFF');
      if (kind != "out" && std::fread(array.data(), 1, array.size(), stdin) != array.size()) {
        fail("standard input is short");
      }
      if (kind != "in") {
        outputs.push_back(arrays.size() - 1);
      }
      word = reinterpret_cast<Word>(array.data() + number(at));
    } else if (kind == "null") {
      word = 0;
    } else {
      fail("what is " + argument);
    }
  }
  const auto size = [arguments](int i) { return static_cast<unsigned>(std::atoi(arguments[i])); };
  gridDim = {size(2), size(3)};
  blockDim = {size(4), 1};
  for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
      run_block(blockDim.x);
    }
  }
  for (const size_t output : outputs) {
    std::fwrite(arrays[output].data(), 1, arrays[output].size(), stdout);
  }
  return 0;
}
