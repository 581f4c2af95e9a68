//! Checks of what moves a GPU's clock.

use plan::{Check, CheckStatus};

use super::thresholds::{self, clock_of};
use crate::measurement::gpu::{Gpu, GpuProbe};

/// A GPU before the run; what could not be read says why.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuFacts {
    /// Clock of the multiprocessors in MHz, and the highest.
    pub clock_mhz: Result<(f64, f64), String>,
    /// Whether it has nothing to do.
    pub idle: Result<bool, String>,
    /// Temperature of the die in °C.
    pub temperature_c: Result<f64, String>,
    /// Why it runs slower than it could.
    pub slow_downs: Result<Vec<String>, String>,
}

impl GpuFacts {
    pub(super) fn read<G: Gpu>(probe: &GpuProbe<G>) -> Self {
        let most = || probe.max_clock_mhz();
        Self {
            clock_mhz: probe.clock_mhz().and_then(|mhz| Ok((mhz, most()?))),
            idle: probe.is_idle(),
            temperature_c: probe.temperature_c(),
            slow_downs: probe.slow_downs(),
        }
    }
}

const CLOCK: &str = "gpu_clock";
const TEMPERATURE: &str = "gpu_temperature";
const THROTTLE: &str = "gpu_throttle";

/// The checks of a GPU, or of one that cannot be asked.
pub(super) fn checks(gpu: &Result<GpuFacts, String>) -> [Check; 3] {
    match gpu {
        Ok(gpu) => [clock(gpu), temperature(gpu), throttle(gpu)],
        Err(why) => [CLOCK, TEMPERATURE, THROTTLE].map(|name| Check::skipped(name, why)),
    }
}

fn clock(gpu: &GpuFacts) -> Check {
    let (mhz, most) = match &gpu.clock_mhz {
        Ok(clocks) => *clocks,
        Err(why) => return Check::skipped(CLOCK, why),
    };
    let (value, status) = (clock_of(mhz, most), thresholds::clock(mhz / most));
    match &gpu.idle {
        _ if status == CheckStatus::Passed => Check::passed(CLOCK, value),
        Err(why) => Check::skipped(CLOCK, format!("{value}, busy or idle: {why}")),
        Ok(true) => Check::skipped(CLOCK, format!("{value}, idle: it comes up with the work")),
        Ok(false) => {
            let remedy = "another program uses the GPU, or its clock is set lower (`nvidia-smi -q \
                          -d CLOCK,PERFORMANCE`)";
            Check::graded(CLOCK, status, value, remedy)
        }
    }
}

fn temperature(gpu: &GpuFacts) -> Check {
    match &gpu.temperature_c {
        Err(why) => Check::skipped(TEMPERATURE, why),
        Ok(celsius) => {
            let remedy = "a hot GPU lowers its clock; let it cool down, and look at its fans";
            let status = thresholds::temperature(*celsius);
            Check::graded(TEMPERATURE, status, format!("{celsius:.0} °C"), remedy)
        }
    }
}

fn throttle(gpu: &GpuFacts) -> Check {
    let remedy = "the GPU slows itself down before the run has begun; look at its power limit, its \
                  fans and who else uses it (`nvidia-smi -q -d PERFORMANCE`)";
    match &gpu.slow_downs {
        Err(why) => Check::skipped(THROTTLE, why),
        Ok(reasons) if reasons.is_empty() => Check::passed(THROTTLE, "none"),
        Ok(reasons) => Check::graded(THROTTLE, CheckStatus::Failed, reasons.join(", "), remedy),
    }
}
