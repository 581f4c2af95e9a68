//! Checks before a run for whatever on this machine disturbs measuring, each with its remedy.

mod clock;
mod gpu;
mod others;
mod process;
mod thresholds;

use std::collections::BTreeMap;

use plan::{Check, HostFacts, Quiet};

use super::conditions::Readings;
use super::host_readings::HostReadings;
use super::{cpu_clock, host, nvml, quiet, variables};
pub use gpu::GpuFacts;

/// The facts that are checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The machine.
    pub host: HostFacts,
    /// The machine is a guest of another.
    pub is_virtual: bool,
    /// The harness was compiled without optimization.
    pub debug_build: bool,
    /// Variables that steer the libraries and are set.
    pub variables: BTreeMap<String, String>,
    /// Clock of one busy core in MHz, or why it is not known.
    pub clock_mhz: Result<f64, String>,
    /// The highest that it may have.
    pub max_clock_mhz: Option<f64>,
    /// Temperature of the processor in °C.
    pub temperature_c: Option<f64>,
    /// How the processor slowed itself down while the quiet score was taken; absent where it does
    /// not count that.
    pub throttled: Option<Vec<String>>,
    /// The GPU, or why it cannot be asked; absent in a run that uses none.
    pub gpu: Option<Result<GpuFacts, String>>,
}

/// Looks at this machine and process, and at the first CUDA device if the run uses one; takes 0.1 s,
/// for the quiet score.
pub fn look(cuda: bool) -> (Facts, Quiet) {
    let mut readings = HostReadings::start();
    let quiet = quiet::score();
    let facts = Facts {
        host: host::host(),
        is_virtual: host::is_virtual(),
        debug_build: cfg!(debug_assertions),
        variables: variables::variables(),
        // Right after the score, when the core's clock has come up.
        clock_mhz: cpu_clock::read_mhz(),
        max_clock_mhz: host::max_clock_mhz(),
        temperature_c: readings.read().temperature_c,
        throttled: readings.counts_throttling().then(|| readings.throttle_reasons()),
        gpu: cuda.then(|| Ok(GpuFacts::read(&nvml::open(0)?))),
    };
    (facts, quiet)
}

/// The checks, in the order in which they are shown. `threads` is the highest number
/// that a case of the run asks for.
pub fn checks(facts: &Facts, quiet: &Quiet, threads: u32) -> Vec<Check> {
    let mut checks = vec![
        process::build(facts.debug_build),
        clock::governor(facts),
        clock::frequency(facts),
        clock::turbo(facts),
        clock::temperature(facts),
        clock::throttle(facts),
        others::load(&facts.host, quiet),
        others::quiet(quiet),
        others::steal(quiet, facts.is_virtual),
        process::threads(&facts.host, threads),
        process::huge_pages(&facts.host),
        process::variables(&facts.variables, threads),
    ];
    checks.extend(facts.gpu.iter().flat_map(gpu::checks));
    checks
}

/// One line for each of the [`checks`] that did not pass.
pub fn warnings(facts: &Facts, quiet: &Quiet, threads: u32) -> Vec<String> {
    checks(facts, quiet, threads).iter().filter_map(Check::warning).collect()
}

#[cfg(test)]
mod tests;
