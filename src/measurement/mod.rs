//! Measures that criterion does not hold, each with the probe that fills it.
//!
//! A probe that lacks what it reads says why, in one line that a record can carry.

mod chain;
pub mod conditions;
pub mod counters;
mod cpu_clock;
pub mod cpu_time;
mod cpufreq;
pub mod cupti;
pub mod energy;
mod environment;
pub mod gpu;
pub mod hardware;
mod host;
mod host_readings;
mod hwmon;
pub mod instruments;
pub mod latency;
pub mod memory;
pub mod memory_profile;
pub mod nvml;
pub mod operations;
pub mod page_fault;
pub mod preflight;
mod profile_file;
pub mod profiler;
pub mod quiet;
mod rapl;
mod rust_blocks;
pub mod rust_memory;
pub mod stopwatch;
mod usage;
pub mod utilization;
mod variables;

pub use environment::{allocator_label, cautions, cuda_facts, environment};
pub use host::{cores, host};
