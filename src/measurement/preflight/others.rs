//! Checks for other load on the machine.

use plan::{Check, CheckStatus, HostFacts, Quiet};

use super::thresholds;

/// Share of undisturbed slices below which a machine is not quiet.
const QUIET_SCORE: f64 = 0.9;
/// Share of stolen CPU time from which it shows.
const NOTABLE_STEAL: f64 = 0.01;

pub(super) fn load(host: &HostFacts, quiet: &Quiet) -> Check {
    let Some(load) = quiet.load_1m else {
        return Check::skipped("load", "no /proc/loadavg here");
    };
    let per_cpu = load / f64::from(host.cpus.max(1));
    let value = format!(
        "{load:.2} processes were runnable on average over the last minute, on {} CPUs ({:.0} %)",
        host.cpus,
        100.0 * per_cpu
    );
    let remedy = "stop other programs (a build just before counts, too: wait a minute)";
    Check::graded("load", thresholds::load(per_cpu), value, remedy)
}

pub(super) fn quiet(quiet: &Quiet) -> Check {
    let disturbed = quiet.score < QUIET_SCORE;
    let value = format!(
        "{:.0} % of short equal computations took more than 2 % longer than the fastest",
        100.0 * (1.0 - quiet.score)
    );
    let remedy = "the machine is not quiet; stop other programs, or use a dedicated machine";
    Check::graded("quiet", warning_if(disturbed), value, remedy)
}

pub(super) fn steal(quiet: &Quiet, is_virtual: bool) -> Check {
    let Some(steal) = quiet.steal else {
        return Check::skipped("steal", "no count of stolen time here");
    };
    let machine = if is_virtual { "this virtual machine" } else { "this machine" };
    let value = format!(
        "the hypervisor gave {:.0} % of the CPU time that {machine} asked for to others",
        100.0 * steal
    );
    let remedy = "use one with dedicated cores, or trust only speed-ups from interleaved pairs";
    Check::graded("steal", warning_if(steal > NOTABLE_STEAL), value, remedy)
}

fn warning_if(disturbs: bool) -> CheckStatus {
    if disturbs { CheckStatus::Warning } else { CheckStatus::Passed }
}
