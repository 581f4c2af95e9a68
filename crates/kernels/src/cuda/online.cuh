// Maximum and sum of exponentials of a row in one pass: a thread scales its sum down when it meets a
// larger maximum.

namespace {

struct Exponentials {
  // The largest value; NaN is none.
  float highest;
  // Σ exp(x − highest). NaN where the row has NaN or infinity, 0 where it has −infinity alone.
  float sum;
};

// `x` begins at a multiple of the size of V values, and V divides `dim`.
template <class T, int V>
__device__ inline Exponentials exponentials(const T* x, int dim, int lanes, int lane) {
  constexpr int kUnroll = 4;
  const int step = lanes * V;
  float highest = -infinity();
  float sum = 0.0f;
  // All threads of a team meet the same loads, for a row far longer than a block's accesses.
  for (int first = lane * V; first < dim; first += kUnroll * step) {
    float values[kUnroll][V];
    float found = highest;
    #pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * step < dim) {
        const Values<T, V> loaded = load<T, V>(x + first + i * step);
        #pragma unroll
        for (int j = 0; j < V; ++j) {
          values[i][j] = to_float(loaded.at[j]);
          found = fmaxf(found, values[i][j]);
        }
      }
    }
    // −∞ − (−∞) is no exponent; from 0 its exponential is 0.
    const float origin = found == -infinity() ? 0.0f : found;
    sum *= expf(highest - origin);
    #pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * step < dim) {
        #pragma unroll
        for (int j = 0; j < V; ++j) {
          sum += expf(values[i][j] - origin);
        }
      }
    }
    highest = found;
  }
  const float of_team = team_max(highest, lanes);
  // Also where both are infinite.
  sum *= highest == of_team ? 1.0f : expf(highest - of_team);
  return {of_team, team_sum(sum, lanes)};
}

} // namespace
