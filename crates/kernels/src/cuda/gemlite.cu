// y[m, n] = x[m, k] · W[n, k]ᵀ with W dequantized on the way, 4 or 8 bits. x, y, scale and zero are
// bfloat16 or float16 (T); sums are float32.
//
//   4 bits  W = (q − zero) · scale, q 0..15, scale and zero [n, k / group].
//           packed [n, k / 2] bytes: 32 weights are four little-endian words, of which word c holds
//           q[8p + 2c] in bits 4p.. and q[8p + 2c + 1] in bits 16 + 4p.. for p = 0..3: what a
//           thread of a tensor core multiplies lies in one word, and pairs are decoded at once.
//   8 bits  W = q · scale, q −128..127, scale [n, 1], group = k, no zero.
//           packed [n, k] bytes.
//
// k and group are multiples of 32, group divides k, the addresses of x and packed are multiples of
// 16, all tensors contiguous. m and n are any.
//
// Both kernels sum x · q over a group before they apply its parameters,
//   Σ x · W = scale · (Σ x · q − zero · Σ x),
// so what is multiplied is exact, also on tensor cores. A 4-bit weight enters as 16 + q: its bits
// put into the mantissa of a float16, bfloat16 or float32 of that range are that number. The 16 is
// taken off with the zero.

namespace {

// Weights 8 · part + 2c and the next of word c with 4 bits, plus 16.
__device__ inline void decode_pair(unsigned word, int part, float& low, float& high) {
  // As a pair of bfloat16: 0x4180 is 16, whose last place but three is 1.
  const unsigned shifted = part == 0 ? word << 3 : word >> (4 * part - 3);
  const unsigned pair = (shifted & 0x00780078u) | 0x41804180u;
  low = __uint_as_float(pair << 16);
  high = __uint_as_float(pair & 0xFFFF0000u);
}

__device__ inline void decode_four(unsigned word, float (&out)[4]) {
  // q + 128 in the last bits of 2²³.
  const unsigned biased = word ^ 0x80808080u;
  for (int i = 0; i < 4; ++i) {
    out[i] = __uint_as_float(0x4B000000u | ((biased >> (8 * i)) & 0xFFu)) - 8388736.0f;
  }
}

// The quarter `part` of four words' weights, in the order of k, with 4 bits plus 16.
__device__ inline void decode(const uint4& words, int part, float (&out)[8]) {
  decode_pair(words.x, part, out[0], out[1]);
  decode_pair(words.y, part, out[2], out[3]);
  decode_pair(words.z, part, out[4], out[5]);
  decode_pair(words.w, part, out[6], out[7]);
}

__device__ inline void decode(const uint4& words, int part, float (&out)[4]) {
  decode_four(part == 0 ? words.x : part == 1 ? words.y : part == 2 ? words.z : words.w, out);
}

template <int BITS>
constexpr float kBias = BITS == 4 ? 16.0f : 0.0f;

// The part of a product that a row's sums over a group give: sum = Σ x · (q + bias), x_sum = Σ x.
template <class T, int BITS>
__device__ inline float dequantized(
    float sum, float x_sum, const T* scale, const T* zero, long long at) {
  if constexpr (BITS == 4) {
    return to_float(scale[at]) * (sum - (to_float(zero[at]) + kBias<BITS>) * x_sum);
  } else {
    return to_float(scale[at]) * sum;
  }
}

// --- Up to M rows of x --------------------------------------------------------------------------
// A block computes kRows columns of y. Its threads run through k side by side, 16 bytes of packed
// weights at a time, and add up at the end.

constexpr int kThreads = 128;
constexpr int kRows = 4;

// The values of x that a quarter of 16 bytes of weights is multiplied by.
template <class T>
__device__ inline void read(const T* x, float (&out)[8]) {
  const uint4 eight = *reinterpret_cast<const uint4*>(x);
  unpack<T>(eight.x, out[0], out[1]);
  unpack<T>(eight.y, out[2], out[3]);
  unpack<T>(eight.z, out[4], out[5]);
  unpack<T>(eight.w, out[6], out[7]);
}

template <class T>
__device__ inline void read(const T* x, float (&out)[4]) {
  const uint2 four = *reinterpret_cast<const uint2*>(x);
  unpack<T>(four.x, out[0], out[1]);
  unpack<T>(four.y, out[2], out[3]);
}

// Adds up what the threads of a block have, and stores it.
template <class T, int M>
__device__ inline void store_sums(const float (&y_sum)[M][kRows], T* y, int n0, int m, int n) {
  __shared__ float partial[kThreads / kWarp][M * kRows];
  const int warp = threadIdx.x / kWarp;
  for (int i = 0; i < M; ++i) {
    for (int row = 0; row < kRows; ++row) {
      const float sum = warp_sum(y_sum[i][row]);
      if (threadIdx.x % kWarp == 0) {
        partial[warp][i * kRows + row] = sum;
      }
    }
  }
  __syncthreads();
  const int i = threadIdx.x / kRows;
  const int column = n0 + threadIdx.x % kRows;
  if (threadIdx.x < M * kRows && i < m && column < n) {
    float sum = 0.0f;
    for (int other = 0; other < kThreads / kWarp; ++other) {
      sum += partial[other][threadIdx.x];
    }
    from_float(sum, y[static_cast<long long>(i) * n + column]);
  }
}

template <class T, int BITS, int M>
__device__ inline void gemv(
    const T* x, const uint4* packed, const T* scale, const T* zero, T* y, int m, int n, int k,
    int group) {
  constexpr int kPerWord = 32 / BITS;
  constexpr int kPerLoad = 4 * kPerWord;
  const int n0 = blockIdx.x * kRows;
  const int loads = k / kPerLoad;
  const int groups = k / group;

  float y_sum[M][kRows] = {};
  for (int load = threadIdx.x; load < loads; load += kThreads) {
    uint4 words[kRows];
    for (int row = 0; row < kRows; ++row) {
      // A column that does not exist is computed as the last one and not stored.
      const long long at = min(n0 + row, n - 1);
      words[row] = packed[at * loads + load];
    }
    float sum[M][kRows] = {};
    float x_sum[M] = {};
    #pragma unroll
    for (int part = 0; part < 4; ++part) {
      float weights[kRows][kPerWord];
      for (int row = 0; row < kRows; ++row) {
        decode(words[row], part, weights[row]);
      }
      for (int i = 0; i < M; ++i) {
        if (i < m) {
          const long long at = static_cast<long long>(i) * k + load * kPerLoad + part * kPerWord;
          float values[kPerWord];
          read<T>(x + at, values);
          for (int j = 0; j < kPerWord; ++j) {
            x_sum[i] += values[j];
            for (int row = 0; row < kRows; ++row) {
              sum[i][row] = fmaf(values[j], weights[row][j], sum[i][row]);
            }
          }
        }
      }
    }
    for (int row = 0; row < kRows; ++row) {
      const long long at =
          static_cast<long long>(min(n0 + row, n - 1)) * groups + load * kPerLoad / group;
      for (int i = 0; i < M; ++i) {
        y_sum[i][row] += dequantized<T, BITS>(sum[i][row], x_sum[i], scale, zero, at);
      }
    }
  }
  store_sums<T, M>(y_sum, y, n0, m, n);
}

// --- Many rows of x -----------------------------------------------------------------------------
// A block computes kTile × kTile of y with four warps, each a quarter, on tensor cores. It walks
// along k in steps of kStep; while one step is multiplied, the next is on its way to registers.

constexpr int kTile = 64;
constexpr int kStep = 32;
// Values of T in a row of a tile in shared memory: 80 bytes, so that the eight rows which a warp
// reads at once lie in different banks.
constexpr int kPitch = kStep + 8;

// One step's part of x and of W that a thread carries: two rows' quarters, and 16 weights.
template <int BITS>
struct Carried {
  uint4 x[2];
  unsigned words[BITS / 2];
};

template <class T, int BITS>
__device__ inline void fetch(
    Carried<BITS>& to, const T* x, const unsigned char* packed, int m0, int n0, int k0, int m,
    int n, int k) {
  for (int i = 0; i < 2; ++i) {
    const int row = m0 + threadIdx.x / 4 + i * (kTile / 2);
    const long long at = static_cast<long long>(row) * k + k0 + threadIdx.x % 4 * 8;
    to.x[i] = row < m ? *reinterpret_cast<const uint4*>(x + at) : uint4{0, 0, 0, 0};
  }
  // A column that does not exist is computed as the last one and not stored.
  const long long column = min(n0 + static_cast<int>(threadIdx.x / 2), n - 1);
  const long long first = column * k + k0 + threadIdx.x % 2 * 16;
  if constexpr (BITS == 4) {
    const uint2 two = *reinterpret_cast<const uint2*>(packed + first / 2);
    to.words[0] = two.x;
    to.words[1] = two.y;
  } else {
    const uint4 four = *reinterpret_cast<const uint4*>(packed + first);
    to.words[0] = four.x;
    to.words[1] = four.y;
    to.words[2] = four.z;
    to.words[3] = four.w;
  }
}

template <class T, int BITS>
__device__ inline void store(const Carried<BITS>& from, T (*x_tile)[kPitch], T (*w_tile)[kPitch]) {
  for (int i = 0; i < 2; ++i) {
    T* to = &x_tile[threadIdx.x / 4 + i * (kTile / 2)][threadIdx.x % 4 * 8];
    *reinterpret_cast<uint4*>(to) = from.x[i];
  }
  unsigned* to = reinterpret_cast<unsigned*>(w_tile[threadIdx.x / 2]);
  for (int word = 0; word < BITS / 2; ++word) {
    const int at = threadIdx.x % 2 * (BITS / 2) + word;
    if constexpr (BITS == 4) {
      for (int part = 0; part < 4; ++part) {
        float low, high;
        decode_pair(from.words[word], part, low, high);
        to[4 * part + at] = pack<T>(low, high);
      }
    } else {
      float weights[4];
      decode_four(from.words[word], weights);
      to[2 * at] = pack<T>(weights[0], weights[1]);
      to[2 * at + 1] = pack<T>(weights[2], weights[3]);
    }
  }
}

// A warp's part of its quarter, 32 × 32, as 2 × 4 products of 16 × 8: Σ x · q over a group so far,
// and x times a matrix of ones, whose every column is Σ x, where the sums need it.
struct Sums {
  float of_group[2][4][4];
  float of_x[2][4];
};

// Multiplies the step in shared memory: 32 rows of x by 32 of W.
template <class T, int BITS>
__device__ inline void multiply_step(
    Sums& sums, const T (*x_rows)[kPitch], const T (*w_rows)[kPitch]) {
  const int row = threadIdx.x % kWarp / 4;
  const int pair = threadIdx.x % 4 * 2;
  const unsigned ones[2] = {pack<T>(1.0f, 1.0f), pack<T>(1.0f, 1.0f)};
  for (int step = 0; step < kStep; step += 16) {
    const auto two = [step, pair](const T(*rows)[kPitch], int r, int offset) {
      return *reinterpret_cast<const unsigned*>(&rows[r][step + pair + offset]);
    };
    unsigned a[2][4];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int first = i * 16 + row;
      a[i][0] = two(x_rows, first, 0);
      a[i][1] = two(x_rows, first + 8, 0);
      a[i][2] = two(x_rows, first, 8);
      a[i][3] = two(x_rows, first + 8, 8);
      if constexpr (BITS == 4) {
        multiply_add(sums.of_x[i], a[i], ones, T{});
      }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned b[2] = {two(w_rows, j * 8 + row, 0), two(w_rows, j * 8 + row, 8)};
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_add(sums.of_group[i][j], a[i], b, T{});
      }
    }
  }
}

// Calls `visit` for the elements that a thread holds of its warp's quarter: the product's row and
// column among the 2 × 4, the element, and where it is in the quarter.
template <class Visit>
__device__ inline void each_element(Visit visit) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int row = i * 16 + threadIdx.x % kWarp / 4 + c / 2 * 8;
        const int column = j * 8 + threadIdx.x % 4 * 2 + c % 2;
        visit(i, j, c, row, column);
      }
    }
  }
}

template <class T, int BITS>
__device__ inline void gemm(
    const T* x, const unsigned char* packed, const T* scale, const T* zero, T* y, int m, int n,
    int k, int group) {
  __shared__ __align__(16) T x_tile[kTile][kPitch];
  __shared__ __align__(16) T w_tile[kTile][kPitch];
  const int m0 = blockIdx.x * kTile;
  const int n0 = blockIdx.y * kTile;
  const int groups = k / group;
  // The warp's quarter.
  const int warp_m = threadIdx.x / kWarp / 2 * (kTile / 2);
  const int warp_n = threadIdx.x / kWarp % 2 * (kTile / 2);

  float y_sum[2][4][4] = {};
  Sums sums = {};
  Carried<BITS> carried;
  fetch<T, BITS>(carried, x, packed, m0, n0, 0, m, n, k);
  for (int k0 = 0; k0 < k; k0 += kStep) {
    __syncthreads();
    store<T, BITS>(carried, x_tile, w_tile);
    __syncthreads();
    if (k0 + kStep < k) {
      fetch<T, BITS>(carried, x, packed, m0, n0, k0 + kStep, m, n, k);
    }
    multiply_step<T, BITS>(sums, x_tile + warp_m, w_tile + warp_n);
    if ((k0 + kStep) % group == 0) {
      each_element([&](int i, int j, int c, int, int column) {
        const long long row = min(n0 + warp_n + column, n - 1);
        y_sum[i][j][c] += dequantized<T, BITS>(
            sums.of_group[i][j][c], sums.of_x[i][c], scale, zero, row * groups + k0 / group);
      });
      sums = {};
    }
  }
  each_element([&](int i, int j, int c, int row, int column) {
    const int at_m = m0 + warp_m + row;
    const int at_n = n0 + warp_n + column;
    if (at_m < m && at_n < n) {
      from_float(y_sum[i][j][c], y[static_cast<long long>(at_m) * n + at_n]);
    }
  });
}

} // namespace

// gemlite_gemv_{4,8}bit_{bf16,f16}_m{1,2,4,8} and gemlite_gemm_{4,8}bit_{bf16,f16}.

#define GEMV(NAME, T, BITS, M)                                                                    \
  extern "C" __global__ void __launch_bounds__(kThreads)                                          \
      gemlite_gemv_##BITS##bit_##NAME##_m##M(                                                     \
          const T* x, const uint4* packed, const T* scale, const T* zero, T* y, int m, int n,     \
          int k, int group) {                                                                     \
    gemv<T, BITS, M>(x, packed, scale, zero, y, m, n, k, group);                                  \
  }

#define KERNELS(NAME, T, BITS)                                                                    \
  GEMV(NAME, T, BITS, 1)                                                                          \
  GEMV(NAME, T, BITS, 2)                                                                          \
  GEMV(NAME, T, BITS, 4)                                                                          \
  GEMV(NAME, T, BITS, 8)                                                                          \
  extern "C" __global__ void __launch_bounds__(kThreads) gemlite_gemm_##BITS##bit_##NAME(         \
      const T* x, const unsigned char* packed, const T* scale, const T* zero, T* y, int m, int n, \
      int k, int group) {                                                                         \
    gemm<T, BITS>(x, packed, scale, zero, y, m, n, k, group);                                     \
  }

KERNELS(bf16, BFloat16, 4)
KERNELS(bf16, BFloat16, 8)
KERNELS(f16, Half, 4)
KERNELS(f16, Half, 8)
