// Memory read and written, and nothing computed: what operators on the same tensors are measured
// against. Tensors are `count` 16-bit words, whatever their dtype.
//
//   copy   y = x
//   merge  y = x ^ other
//   read   x, and `other` if it is there; the words' XOR in `partial`, 16 bytes per block, so that
//          every word has to be read
//
// An access is V words: 16 bytes, or one. What is left after whole accesses is read word by word.

namespace {

using Word = unsigned short;

constexpr int kThreads = 256;
// Accesses of a thread that are on their way at once.
constexpr int kUnroll = 4;

template <int V>
__device__ inline void merge_into(Values<Word, V>& to, const Values<Word, V>& from) {
  #pragma unroll
  for (int j = 0; j < V; ++j) {
    to.at[j] ^= from.at[j];
  }
}

template <bool MERGE, int V>
__device__ inline void pass(const Word* x, const Word* other, Word* y, long long count) {
  const long long whole = count / V;
  const long long first = static_cast<long long>(blockIdx.x) * kThreads * kUnroll + threadIdx.x;
  Values<Word, V> values[kUnroll], others[kUnroll];
  #pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const long long at = first + i * kThreads;
    if (at < whole) {
      values[i] = load<Word, V>(x + at * V);
      if (MERGE) {
        others[i] = load<Word, V>(other + at * V);
      }
    }
  }
  #pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const long long at = first + i * kThreads;
    if (at < whole) {
      if (MERGE) {
        merge_into(values[i], others[i]);
      }
      store<Word, V>(y + at * V, values[i]);
    }
  }
  const long long tail = whole * V + threadIdx.x;
  if (V > 1 && blockIdx.x == 0 && tail < count) {
    y[tail] = MERGE ? x[tail] ^ other[tail] : x[tail];
  }
}

template <int V>
__device__ inline void fold(Values<Word, V>& sum, const Word* x, long long count) {
  constexpr int kTile = kThreads * kUnroll;
  const long long whole = count / V;
  for (long long first = static_cast<long long>(blockIdx.x) * kTile + threadIdx.x; first < whole;
       first += static_cast<long long>(gridDim.x) * kTile) {
    Values<Word, V> values[kUnroll];
    #pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * kThreads < whole) {
        values[i] = load<Word, V>(x + (first + i * kThreads) * V);
      }
    }
    #pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * kThreads < whole) {
        merge_into(sum, values[i]);
      }
    }
  }
  const long long tail = whole * V + threadIdx.x;
  if (V > 1 && blockIdx.x == 0 && tail < count) {
    sum.at[0] ^= x[tail];
  }
}

template <int V>
__device__ inline void read(
    const Word* x, const Word* other, Values<Word, V>* partial, long long count,
    long long other_count) {
  Values<Word, V> sum = {};
  fold<V>(sum, x, count);
  if (other != nullptr) {
    fold<V>(sum, other, other_count);
  }
  const auto merge = [](Values<Word, V>& to, const Values<Word, V>& from) { merge_into(to, from); };
  sum = block_joined<kThreads>(sum, merge);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
  }
}

} // namespace

// pass_{copy,merge,read}, …_scalar.

#define PASS(NAME, MERGE, V)                                                                   \
  extern "C" __global__ void __launch_bounds__(kThreads) NAME(                                 \
      const Word* x, const Word* other, Word* y, long long count) {                            \
    pass<MERGE, V>(x, other, y, count);                                                        \
  }

#define READ(NAME, V)                                                                          \
  extern "C" __global__ void __launch_bounds__(kThreads) NAME(                                 \
      const Word* x, const Word* other, Values<Word, V>* partial, long long count,             \
      long long other_count) {                                                                 \
    read<V>(x, other, partial, count, other_count);                                            \
  }

PASS(pass_copy, false, kVector<Word>)
PASS(pass_copy_scalar, false, 1)
PASS(pass_merge, true, kVector<Word>)
PASS(pass_merge_scalar, true, 1)
READ(pass_read, kVector<Word>)
READ(pass_read_scalar, 1)
