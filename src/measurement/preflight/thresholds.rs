//! From where on a reading disturbs: the same for a CPU and a GPU, and those of branes-ai/graphs.

use plan::CheckStatus;

/// °C below which a processor keeps its clock, and from which it is about to lower it.
const WARM_C: f64 = 70.0;
const HOT_C: f64 = 85.0;
/// Shares of the highest clock.
const FULL_CLOCK: f64 = 0.9;
const LOW_CLOCK: f64 = 0.7;
/// Runnable processes per CPU.
const SOME_LOAD: f64 = 0.05;
const HIGH_LOAD: f64 = 0.2;

pub(super) fn temperature(celsius: f64) -> CheckStatus {
    below(celsius, WARM_C, HOT_C)
}

pub(super) fn load(per_cpu: f64) -> CheckStatus {
    below(per_cpu, SOME_LOAD, HIGH_LOAD)
}

/// The status of a clock, given as a share of the highest.
pub(super) fn clock(share: f64) -> CheckStatus {
    match share {
        share if share >= FULL_CLOCK => CheckStatus::Passed,
        share if share >= LOW_CLOCK => CheckStatus::Warning,
        _ => CheckStatus::Failed,
    }
}

/// The status of a value that passes below one limit and fails from another on.
fn below(value: f64, passes: f64, warns: f64) -> CheckStatus {
    match value {
        value if value < passes => CheckStatus::Passed,
        value if value < warns => CheckStatus::Warning,
        _ => CheckStatus::Failed,
    }
}

/// `1755 of at most 1980 MHz (89 %)`.
pub(super) fn clock_of(mhz: f64, most_mhz: f64) -> String {
    format!("{mhz:.0} of at most {most_mhz:.0} MHz ({:.0} %)", 100.0 * mhz / most_mhz)
}
