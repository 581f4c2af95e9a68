//! The measures taken after criterion has sampled, each in a pass of its own, so that none touches
//! a timed sample or another measure.

use plan::{Case, Counters, Energy, Latency, LatencyPass, Measures, Utilization};

use statistics::single_calls;

use super::clock::Stopwatch;
use super::ranges;
use super::running;
use super::timer::{Subject, Timer};
use crate::device;
use crate::measurement::energy::{self, EnergyCounter};
use crate::measurement::utilization::{self, Span};
use crate::measurement::{counters, instruments, latency};
use crate::workload::Refusal;

/// Seconds of single calls that do not count, and fewest and most of those.
const UNCOUNTED_S: f64 = 0.005;
const UNCOUNTED: (f64, f64) = (1.0, 100.0);
/// Most calls that a record keeps one by one.
const KEPT: usize = 10_000;
/// Seconds over which the system's counters are read.
const COUNTERS_S: f64 = 0.02;
/// Fewest and most steps that they are read over.
const COUNTED: (f64, f64) = (3.0, 10_000.0);
/// Seconds of work that may be queued on a device while its energy is read.
const QUEUED_S: f64 = 0.005;
/// Fewest and most steps of it.
const QUEUED: (f64, f64) = (1.0, 10_000.0);
/// A first call that takes so many times what a later one does deserves a word.
const SLOW_START: f64 = 10.0;
/// Why a cold case has neither counters nor energy nor utilization.
pub const FLUSHED: &str =
    "every step of a cold case follows a flush, which would be counted with it";

pub struct Passes<'a> {
    pub case: &'a Case,
    pub quick: bool,
    pub timer: &'a mut Timer,
    pub subject: &'a mut Subject,
    /// Wall seconds of a step, from the pilot.
    pub step_s: f64,
    /// The measures, or in `absent` the reasons why they are missing.
    pub measures: &'a mut Measures,
    pub notes: &'a mut Vec<String>,
}

impl Passes<'_> {
    /// Runs all of them; one that fails leaves the others alone.
    pub fn run(&mut self) {
        let clocks = self.timer.clocks(self.subject).map_err(|refusal| refusal.to_string());
        let clocks = clocks
            .and_then(|clocks| clocks.ok_or_else(|| "the host's clock is the only one".to_owned()));
        self.measures.clocks = self.or_absent("clocks", clocks);
        self.notes.extend(self.subject.notes());
        let latency = self.latency().map_err(|refusal| refusal.to_string());
        self.measures.latency = self.or_absent("latency", latency);
        if self.case.work.kernel().is_some() {
            self.notes.extend(slow_start(self.measures));
        }
        // The passes below run steps without the timer.
        self.subject.settle();
        let counters = self.counters();
        self.measures.counters = self.or_absent("counters", counters);
        let (energy, utilization) = self.energy_and_utilization();
        self.measures.energy = self.or_absent("energy", energy);
        self.measures.utilization = self.or_absent("utilization", utilization);
    }

    /// The measure, or its reason among those that are absent.
    fn or_absent<T>(&mut self, name: &str, measure: Result<T, String>) -> Option<T> {
        let reason = match measure {
            Ok(value) => return Some(value),
            Err(reason) => reason,
        };
        self.measures.absent.insert(name.to_owned(), reason);
        None
    }

    fn latency(&mut self) -> Result<Latency, Refusal> {
        let _range = ranges::for_case(self.case, "latency");
        let LatencyPass { calls, fewest, warm_up } = self.case.settings.latency;
        let calls = calls.unwrap_or_else(|| single_calls(self.step_s, fewest));
        // Other work since the sampling has displaced the step's data from the caches.
        for _ in 0..warm_up.unwrap_or_else(|| self.steps_in(UNCOUNTED_S, UNCOUNTED)) {
            self.timer.call(self.subject)?;
        }
        let call = |_| {
            // The range opens before the call's clock starts and closes after it stops.
            let _range = ranges::step();
            Ok(self.timer.call(self.subject)?.as_nanos() as f64)
        };
        let times: Vec<f64> = (0..calls).map(call).collect::<Result<_, Refusal>>()?;
        if self.case.work.kernel().is_some() {
            keep(&times, self.measures);
        }
        let none = || Refusal::Failed("no call was asked for".to_owned());
        latency::summarize(&times).ok_or_else(none)
    }

    fn counters(&mut self) -> Result<Counters, String> {
        if !self.timer.is_hot() {
            return Err(FLUSHED.to_owned());
        }
        let _range = ranges::for_case(self.case, "counters");
        let steps = self.steps_in(COUNTERS_S, COUNTED);
        let mut step = || {
            if self.is_watched() {
                running::check()?;
            }
            self.step(true)
        };
        counters::count(steps, &mut step).map_err(|refusal| refusal.to_string())
    }

    /// Both are read over one window of steps back to back.
    fn energy_and_utilization(&self) -> (Result<Energy, String>, Result<Utilization, String>) {
        let neither = |reason: String| (Err(reason.clone()), Err(reason));
        if let Err(reason) = self.has_a_window() {
            return neither(reason.to_owned());
        }
        let _range = ranges::for_case(self.case, "energy");
        let device = self.case.device;
        let meter = instruments::utilization_meter(device);
        let mut counter = match instruments::energy_counter(device) {
            Ok(counter) => counter,
            Err(reason) => return (Err(reason.clone()), meter.and(Err(reason))),
        };
        let mut span = Span::default();
        let energy = match self.energy(counter.as_mut(), &mut span) {
            Ok(energy) => energy,
            Err(refusal) => return neither(refusal.to_string()),
        };
        let settings = self.case.settings.energy;
        (energy, meter.and_then(|meter| utilization::summarize(meter.as_ref(), settings, span)))
    }

    /// Whether steps are run for what is read over a window of them, or why not.
    fn has_a_window(&self) -> Result<(), &'static str> {
        if !self.case.settings.energy.enabled {
            Err("the config has `energy: false`")
        } else if self.quick {
            Err("quick mode has no time for it")
        } else if !self.timer.is_hot() {
            Err(FLUSHED)
        } else {
            Ok(())
        }
    }

    /// Within: the energy, or why `counter` gave none; `span` is the time of the steps.
    fn energy(
        &self,
        counter: &mut dyn EnergyCounter,
        span: &mut Span,
    ) -> Result<Result<Energy, String>, Refusal> {
        let wall = Stopwatch::start();
        let time = energy::Time {
            clock: &mut || wall.seconds(),
            idle: &mut |seconds| std::thread::sleep(std::time::Duration::from_secs_f64(seconds)),
        };
        let steps = self.steps_in(QUEUED_S, QUEUED);
        let mut batch = || {
            span.begin();
            for step in 1..=steps {
                let last = step == steps;
                if last || self.is_watched() {
                    running::check()?;
                }
                self.step(last)?;
            }
            span.extend();
            Ok(steps)
        };
        energy::measure(counter, self.case.settings.energy, time, &mut batch)
    }

    /// Whether the case is asked for its time before each step: where the step is so long that it
    /// is nothing to it, and where there is a limit, because a step may have become slow.
    fn is_watched(&self) -> bool {
        self.step_s > QUEUED_S || running::has_limit()
    }

    /// A step outside any clock; a device has done it when the call returns, if `waits`.
    fn step(&self, waits: bool) -> Result<(), Refusal> {
        drop(std::hint::black_box(self.subject.workload.step()?));
        if waits { device::synchronize(self.case.device) } else { Ok(()) }
    }

    /// Steps that fit `seconds`, but no fewer and no more than these.
    fn steps_in(&self, seconds: f64, (fewest, most): (f64, f64)) -> u64 {
        const SHORTEST_S: f64 = 1e-9;
        (seconds / self.step_s.max(SHORTEST_S)).clamp(fewest, most) as u64
    }
}

/// Each call by itself, unless there are too many.
fn keep(times: &[f64], measures: &mut Measures) {
    if times.len() <= KEPT {
        measures.calls_ns = times.iter().map(|ns| *ns as u64).collect();
        return;
    }
    let reason = format!("of {} calls, and a record keeps no more than {KEPT}", times.len());
    measures.absent.insert("calls_ns".to_owned(), reason);
}

/// A note on a first call that took much longer than the later ones.
fn slow_start(measures: &Measures) -> Option<String> {
    let times = measures.first_call_ns? as f64 / measures.latency?.p50_ns;
    (times > SLOW_START).then(|| {
        format!(
            "the first call took {times:.0} times a later one: a step may reuse what an earlier one \
             computed, or it warmed up"
        )
    })
}

pub fn explain(measures: &mut Measures, cut_short: Option<&str>) {
    let Measures {
        first_call_ns,
        memory,
        latency,
        calls_ns: _,
        counters,
        energy,
        utilization,
        conditions,
        clocks,
        absent,
    } = measures;
    let reason = cut_short.unwrap_or("it was not taken");
    for (name, is_there) in [
        ("first_call_ns", first_call_ns.is_some()),
        ("memory", memory.is_some()),
        ("latency", latency.is_some()),
        ("counters", counters.is_some()),
        ("energy", energy.is_some()),
        ("utilization", utilization.is_some()),
        ("conditions", conditions.is_some()),
        ("clocks", clocks.is_some()),
    ] {
        if !is_there {
            absent.entry(name.to_owned()).or_insert_with(|| reason.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_kept_up_to_a_number() {
        let mut measures = Measures::default();
        keep(&[3.0, 1.0, 2.0], &mut measures);
        assert_eq!((measures.calls_ns.as_slice(), measures.absent.len()), (&[3, 1, 2][..], 0));
        let mut measures = Measures::default();
        keep(&vec![1.0; KEPT + 1], &mut measures);
        assert!(measures.calls_ns.is_empty());
        assert!(measures.absent["calls_ns"].contains("10001"), "{:?}", measures.absent);
    }

    #[test]
    fn a_first_call_far_above_the_median_is_noted() {
        let noted = |first_call_ns| {
            let latency = latency::summarize(&[90.0, 100.0, 5000.0]);
            let measures = Measures { first_call_ns, latency, ..Measures::default() };
            slow_start(&measures)
        };
        let note = noted(Some(2500)).expect("25 times");
        assert!(note.starts_with("the first call took 25 times a later one"), "{note}");
        assert_eq!((noted(Some(1000)), noted(None)), (None, None));
    }

    #[test]
    fn every_null_has_its_reason_and_keeps_the_first() {
        let mut measures = Measures { first_call_ns: Some(7), ..Measures::default() };
        measures.absent.insert("energy".to_owned(), "no counter".to_owned());
        explain(&mut measures, Some("a step panicked"));
        assert_eq!(measures.absent["energy"], "no counter");
        assert_eq!(measures.absent["latency"], "a step panicked");
        assert!(!measures.absent.contains_key("first_call_ns"));
        assert_eq!(measures.absent.len(), 7);
    }
}
