//! Half-quadratic quantization: the solver that `int4wo-…-hqq`, `gemlitewo-4` and `uintx-…-hqq` share.
