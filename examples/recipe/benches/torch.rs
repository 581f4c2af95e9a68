//! Measures everything that this package has.

criterion_torch::main!();
