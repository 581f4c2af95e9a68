criterion_torch::main!();
