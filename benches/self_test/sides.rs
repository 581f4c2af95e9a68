//! Two steps under the harness's own pairing.

use criterion_torch::harness::clock::{HostClock, Stopwatch, Timing, time};
use criterion_torch::harness::pairs::{self, Goal, Paired, Side, Sides};
use criterion_torch::refusal::Refusal;
use statistics::Processor;

/// A step without arguments.
pub type Step<'a> = &'a mut dyn FnMut() -> Result<(), Refusal>;

struct Two<'a> {
    baseline: Step<'a>,
    candidate: Step<'a>,
    rebuild: Step<'a>,
    wall: Stopwatch,
}

impl Sides for Two<'_> {
    fn batch(&mut self, side: Side, iters: u64) -> Result<Timing, Refusal> {
        let step: Step<'_> = match side {
            Side::Baseline => &mut *self.baseline,
            Side::Candidate => &mut *self.candidate,
        };
        time(&mut HostClock, step, None, iters).map(Timing::waited_for)
    }

    fn rebuild(&mut self) -> Result<(), Refusal> {
        (self.rebuild)()
    }

    fn wall(&self) -> f64 {
        self.wall.seconds()
    }
}

/// Pairs two steps as the harness pairs a candidate with its baseline; `rebuild` builds both anew.
pub fn pair(
    baseline: Step<'_>,
    candidate: Step<'_>,
    rebuild: Step<'_>,
    budget_s: f64,
) -> Result<Paired, Refusal> {
    let mut sides = Two { baseline, candidate, rebuild, wall: Stopwatch::start() };
    pairs::run(
        &mut sides,
        Goal {
            target: plan::cost::DEFAULT_TARGET,
            budget_s,
            known: [None; 2],
            is_shared: false,
            on: Processor::Cpu,
        },
    )
}

/// Median time of a step in nanoseconds, over 50 samples of at least 2 ms.
pub fn median_ns(step: Step<'_>) -> Result<f64, Refusal> {
    let first = time(&mut HostClock, &mut *step, None, 1)?;
    let iters = statistics::sample_iters(first.as_nanos() as f64);
    let sample = |_| {
        let taken = time(&mut HostClock, &mut *step, None, iters)?;
        Ok(taken.as_nanos() as f64 / iters as f64)
    };
    let samples: Result<Vec<f64>, Refusal> = (0..50).map(sample).collect();
    Ok(statistics::median(&samples?))
}
