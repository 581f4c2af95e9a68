//! The measures that criterion does not have, each from a pass of its own, outside the timed
//! samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::facts::Memory;
use crate::words::Regime;

/// The measures of a case. One that is null has its reason in `absent`, under its own name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measures {
    /// The very first step after building, in nanoseconds: kernels are chosen, caches filled.
    pub first_call_ns: Option<u64>,
    /// Bytes and counts of allocations.
    pub memory: Option<Memory>,
    /// Single calls, each timed by itself.
    pub latency: Option<Latency>,
    /// The time of each of these calls, in their order, in nanoseconds; of kernels only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls_ns: Vec<u64>,
    /// The operating system's counters.
    pub counters: Option<Counters>,
    /// Energy of a step.
    pub energy: Option<Energy>,
    /// How busy a GPU was, in the window of `energy`.
    pub utilization: Option<Utilization>,
    /// Clock, temperature and throttling while criterion sampled.
    pub conditions: Option<Conditions>,
    /// Both clocks of a device that works beside the host.
    pub clocks: Option<Clocks>,
    /// Name of a null measure to why it is null.
    #[serde(default)]
    pub absent: BTreeMap<String, String>,
}

/// Latency of single calls. A percentile is given only where at least five calls lie beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Number of calls.
    pub calls: u64,
    /// Mean, in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation (population) of all calls.
    #[serde(default)]
    pub std_ns: Option<f64>,
    /// Median.
    pub p50_ns: f64,
    /// 90th percentile; from 50 calls on.
    pub p90_ns: Option<f64>,
    /// 99th percentile; from 500 calls on.
    pub p99_ns: Option<f64>,
    /// Slowest call.
    pub max_ns: f64,
}

/// The operating system's counters of this process, per step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// Steps that were counted over.
    pub iters: u64,
    /// Pages that the system mapped and zeroed.
    pub minor_faults: f64,
    /// Pages that were read from disk.
    pub major_faults: f64,
    /// Waits that gave the CPU away.
    pub voluntary_switches: f64,
    /// Times that the CPU was taken away.
    pub involuntary_switches: f64,
    /// CPU time in user mode, of all threads, in nanoseconds.
    pub user_ns: f64,
    /// CPU time in the kernel, of all threads, in nanoseconds.
    pub system_ns: f64,
    /// Wall time, in nanoseconds.
    pub wall_ns: f64,
    /// Estimated share of the CPU time that the page faults take: faults × measured cost of one, at
    /// most the time in the kernel.
    pub fault_share: Option<f64>,
}

/// Energy of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Energy {
    /// Joules per step.
    pub joules: f64,
    /// Mean power during the window, in watts, idle power included.
    pub watts: f64,
    /// Mean power of the idle machine, where it was measured.
    pub idle_watts: Option<f64>,
    /// Whether the idle power is subtracted from `joules`.
    pub idle_subtracted: bool,
    /// Length of the window, in seconds.
    pub window_s: f64,
    /// Steps in the window.
    pub iters: u64,
    /// Counter, and what it covers.
    pub method: String,
}

/// Shares of the time in which a GPU was at work while steps ran back to back, each between 0 and 1,
/// from samples of which the whole period lies within the steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Utilization {
    /// Time in which at least one kernel ran on the multiprocessors: how long they were in use, not
    /// how many of them, nor how full.
    pub sm: Range,
    /// Time in which the device's memory was read or written: not the share of its bandwidth.
    pub memory: Range,
    /// Length of the window, in seconds.
    pub window_s: f64,
    /// Samples that `sm` and `memory` each sum up; of the two numbers the smaller one.
    pub samples: u64,
    /// The source of the samples, and what they are of.
    pub method: String,
}

/// Lowest, median and highest of several readings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// Lowest.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Highest.
    pub max: f64,
}

/// The state of the processor that did the work, read between criterion's samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// Clock frequency in MHz.
    pub clock_mhz: Option<Range>,
    /// How the clock was read.
    pub clock_method: String,
    /// Temperature in °C.
    pub temperature_c: Option<Range>,
    /// Whether a CUDA device ran at the clock of short work or at that which it keeps up; absent where the clock in the
    /// samples is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
    /// Why the processor slowed itself down meanwhile, in the driver's words; empty when it did not, or
    /// when nothing tells.
    pub throttle_reasons: Vec<String>,
    /// How throttling of the processor is detected, or `none: ` and why it cannot be.
    #[serde(default)]
    pub throttle_method: Option<String>,
    /// Samples that were thrown away and taken again because the processor's clock was held down in them.
    pub discarded_samples: u64,
    /// Share of the CPU time asked for that the hypervisor gave to others meanwhile.
    pub steal: Option<f64>,
}

impl Conditions {
    /// Why it is not known whether the processor slowed itself down; `None` where something told, as far
    /// as the record shows.
    pub fn throttling_unknown(&self) -> Option<&str> {
        self.throttle_method.as_deref()?.strip_prefix("none: ")
    }
}

/// A step seen by the device's clock and by the host's, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clocks {
    /// Between two events on the device's stream.
    pub device_ns: f64,
    /// From the first call until the device was done.
    pub host_ns: f64,
    /// From the first call until the last one had returned: what queueing takes.
    pub queue_ns: f64,
    /// Run back to back, the device would wait for the host.
    pub host_bound: bool,
}
