//! Calibration: the machine's own limits, by the configs in `configs/calibration`, or by those in
//! `BENCH_CONFIG`.

criterion_torch::main!("calibration");
