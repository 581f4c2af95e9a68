//! The calibration of configs/calibration.

criterion_torch::main!("calibration");
