//! The calibration of configs/calibration.

criterion_torch::bench_target!("calibration");
