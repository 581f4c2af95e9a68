//! Checks of what moves the processor's clock.

use plan::{Check, CheckStatus};

use super::Facts;
use super::thresholds::{self, clock_of};

/// Why a file of the processor's is not there.
fn absent(what: &str, facts: &Facts) -> String {
    let why = if facts.is_virtual { ": a virtual machine shows none" } else { "" };
    format!("no {what} here{why}")
}

pub(super) fn governor(facts: &Facts) -> Check {
    let Some(governor) = &facts.host.governor else {
        return Check::skipped("governor", absent("cpufreq", facts));
    };
    // Several where CPUs differ.
    let governors: Vec<&str> = governor.split(',').collect();
    let status = if governors.contains(&"powersave") {
        CheckStatus::Failed
    } else if governors == ["performance"] {
        CheckStatus::Passed
    } else {
        CheckStatus::Warning
    };
    let remedy = "the clock follows the load; `sudo cpupower frequency-set --governor performance`";
    Check::graded("governor", status, governor, remedy)
}

pub(super) fn frequency(facts: &Facts) -> Check {
    let mhz = match &facts.clock_mhz {
        Ok(mhz) => *mhz,
        Err(why) => return Check::skipped("frequency", why),
    };
    let Some(most) = facts.max_clock_mhz else {
        let why = absent("cpufreq", facts);
        return Check::skipped("frequency", format!("{mhz:.0} MHz of an unknown maximum: {why}"));
    };
    let status = thresholds::clock(mhz / most);
    let remedy = "something holds the clock of a busy core down: the governor, heat, a limit of power \
                  or of `cpupower frequency-set --max`, or others on the same core";
    Check::graded("frequency", status, clock_of(mhz, most), remedy)
}

pub(super) fn turbo(facts: &Facts) -> Check {
    let remedy = "the clock depends on temperature and on busy neighbours; `echo 0 | sudo tee \
                  /sys/devices/system/cpu/cpufreq/boost` (intel_pstate: `echo 1 | sudo tee \
                  /sys/devices/system/cpu/intel_pstate/no_turbo`), or compare within one run only";
    match facts.host.turbo {
        Some(true) => Check::graded("turbo", CheckStatus::Warning, "on", remedy),
        Some(false) => Check::passed("turbo", "off"),
        None => Check::skipped("turbo", absent("cpufreq", facts)),
    }
}

pub(super) fn temperature(facts: &Facts) -> Check {
    let Some(celsius) = facts.temperature_c else {
        return Check::skipped("temperature", absent("known sensor of the processor", facts));
    };
    let remedy = "a hot processor lowers its clock; let it cool down, and look at its fans";
    let status = thresholds::temperature(celsius);
    Check::graded("temperature", status, format!("{celsius:.0} °C"), remedy)
}

pub(super) fn throttle(facts: &Facts) -> Check {
    let remedy = "the processor slows itself down; let it cool down, and look at its fans";
    match &facts.throttled {
        None => Check::skipped("throttle", absent("count of slow-downs", facts)),
        Some(reasons) if reasons.is_empty() => Check::passed("throttle", "none"),
        Some(reasons) => Check::graded("throttle", CheckStatus::Failed, reasons.join(", "), remedy),
    }
}
