//! What is measured after criterion has sampled: each measure in a pass of its own, so that none
//! touches a timed sample or another.

use plan::{Case, Device, Measures};

use super::clock::Stopwatch;
use super::timer::{Subject, Timer};
use crate::measurement::{counters, energy, latency};
use crate::native::cuda;
use crate::workload::Refusal;

/// Seconds that the single calls may take, where the config gives no number of them.
const LATENCY_S: f64 = 0.05;
/// Fewest and most single calls then.
const CALLS: (f64, f64) = (5.0, 1000.0);
/// Seconds over which the system's counters are read.
const COUNTERS_S: f64 = 0.02;
/// Fewest and most steps that they are read over.
const COUNTED: (f64, f64) = (3.0, 10_000.0);

/// Runs all passes. A measure that cannot be had stays null, with the reason in `absent`.
///
/// # Errors
/// Those of a step.
pub fn run(
    case: &Case,
    timer: &mut Timer,
    subject: &mut Subject,
    measures: &mut Measures,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    let wall_s = wall_of_a_step(timer, subject)?;
    let steps =
        |seconds: f64, (fewest, most): (f64, f64)| (seconds / wall_s).clamp(fewest, most) as u64;

    let calls = case.settings.latency.calls.unwrap_or_else(|| steps(LATENCY_S, CALLS));
    measures.latency = latency::summarize(&single_calls(timer, subject, calls)?);

    measures.clocks = timer.clocks(subject)?;
    notes.extend(subject.notes());
    let workload = subject.workload.as_ref();
    let mut step = || {
        drop(std::hint::black_box(workload.step()?));
        match case.device {
            // What runs on the device is over before the next step, so that both can be counted.
            Device::Cuda => Ok(cuda::synchronize(0)?),
            _ => Ok(()),
        }
    };
    measures.counters = Some(counters::count(steps(COUNTERS_S, COUNTED), &mut step)?);

    let mut absent = |name: &str, reason| drop(measures.absent.insert(name.to_owned(), reason));
    match energy_of(case, &mut step)? {
        Ok(energy) => measures.energy = Some(energy),
        Err(reason) => absent("energy", reason),
    }
    if measures.clocks.is_none() {
        absent("clocks", "the host's clock is the only one".to_owned());
    }
    Ok(())
}

/// Wall seconds of a step, what lies outside the clock included.
fn wall_of_a_step(timer: &mut Timer, subject: &mut Subject) -> Result<f64, Refusal> {
    const SHORTEST: f64 = 1e-9;
    let wall = Stopwatch::start();
    timer.time(subject, 1)?;
    Ok(wall.seconds().max(SHORTEST))
}

/// Nanoseconds of calls that are each timed by themselves.
fn single_calls(timer: &mut Timer, subject: &mut Subject, calls: u64) -> Result<Vec<f64>, Refusal> {
    (0..calls).map(|_| Ok(timer.time(subject, 1)?.as_nanos() as f64)).collect()
}

/// Within: the energy of a step, or why there is none.
fn energy_of(
    case: &Case,
    step: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<Result<plan::Energy, String>, Refusal> {
    let settings = case.settings.energy;
    if !settings.enabled {
        return Ok(Err("the config has `energy: false`".to_owned()));
    }
    let mut counter = match energy::counter(case.device) {
        Ok(counter) => counter,
        Err(reason) => return Ok(Err(reason)),
    };
    let wall = Stopwatch::start();
    let time = energy::Time {
        clock: &mut || wall.seconds(),
        idle: &mut |seconds| std::thread::sleep(std::time::Duration::from_secs_f64(seconds)),
    };
    energy::measure(counter.as_mut(), settings, time, step)
}
