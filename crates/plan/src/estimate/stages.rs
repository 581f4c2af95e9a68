//! The stages of a case, from the time of its step: the harness's rules as a formula.
//!
//! ```text
//! prepare   PREPARE_S + memory / PREPARED + flops of the reference / REFERENCE + PREPARED_STEPS · step
//! sampling  pilot + criterion's warm-up + planned samples + ANALYSIS_S
//! passes    PASSES_S + single calls + counters (20 ms, at least 3 steps) + a step for the last check
//! pairs     0.8 of all before, or `measurement_s` if it is given; less where the interval narrows sooner
//! ```
//!
//! Its constants were fitted to the records of the suites in `configs` on two cores of an AMD EPYC.

use statistics::{Limits, Pilot, SamplePlan, sample_iters};

use crate::case::{Case, Role};
use crate::cost;
use crate::record::{Record, WallTimes};
use crate::words::{CacheMode, Device, Regime};

/// Seconds of building and checking the smallest case.
const PREPARE_S: f64 = 0.02;
/// Bytes of a case's memory that are generated, converted, quantized and compared per second.
const PREPARED: f64 = 1.8e9;
/// Seconds of building and checking a user kernel or user model, whose cost is unknown.
const UNKNOWN_PREPARE_S: f64 = 0.5;
/// Operations per second of a reference in float64.
const REFERENCE: f64 = 15e9;
/// Steps that a case runs until it is sampled.
const PREPARED_STEPS: f64 = 4.0;
/// Batches of a pilot; a noisy machine needs more.
const PILOT_BATCHES: f64 = 20.0;
/// Seconds of criterion's analysis.
const ANALYSIS_S: f64 = 0.1;
/// Seconds of criterion's warm-up.
const WARM_UP_S: f64 = 0.005;
/// Seconds of the passes that do not depend on the step.
const PASSES_S: f64 = 0.05;
/// Seconds of the system's counters, and their fewest steps.
const COUNTERS_S: f64 = 0.02;
const COUNTED: f64 = 3.0;
/// The most time of a pair relative to that of its case, and the seconds that it always gets.
const PAIRS_SHARE: f64 = 0.8;
const GRANTED_S: f64 = 2.0;
/// The share of that time which pairs take on average: some intervals are narrow enough earlier.
const PAIRS_TAKEN: f64 = 0.8;
/// Batches of the fewest blocks, including an equal number of warm-up steps that do not count.
const FEWEST_PAIRED: f64 = 32.0;

/// The time of a step, and its noise if it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Wall seconds.
    pub seconds: f64,
    /// Relative standard deviation between batches.
    pub noise: Option<f64>,
}

impl Step {
    /// The step that a record's pilot measured; `None` without a pilot.
    pub fn from_record(record: &Record) -> Option<Self> {
        let planned = record.planned?;
        let seconds = planned.step_ns / 1e9;
        (seconds > 0.0).then_some(Self { seconds, noise: planned.noise })
    }

    /// Seconds of a batch.
    fn batch_s(self) -> f64 {
        sample_iters(self.seconds * 1e9) as f64 * self.seconds
    }
}

/// The expected time of a case by its stages.
pub fn wall(case: &Case, step: Step) -> WallTimes {
    let prepare_s = prepare_s(case, step);
    let sampling_s = sampling_s(case, step, measurement_s(case));
    let passes_s = passes_s(case, step);
    let own_s = prepare_s + sampling_s + passes_s;
    let pairs_s = match case.role {
        Role::Baseline => 0.0,
        // The harness takes no pairs for these cases.
        Role::Candidate if is_emulated(case) => 0.0,
        Role::Candidate => {
            let asked_s = case.settings.sampling.measurement_s.unwrap_or_default();
            let budget_s = (PAIRS_SHARE * own_s).max(asked_s);
            let fewest_s = fewest_pairs_s(step);
            let fits = fewest_s <= budget_s.max(GRANTED_S);
            if fits { (PAIRS_TAKEN * budget_s).max(fewest_s) } else { 0.0 }
        }
    };
    WallTimes { prepare_s, sampling_s, passes_s, pairs_s, as_configured: true }
}

/// The minimum time without a pair: the fewest samples.
pub fn least_alone(case: &Case, step: Step, prepare_s: f64) -> f64 {
    prepare_s + sampling_s(case, step, 0.0) + passes_s(case, step)
}

/// The minimum time of its pair: the fewest blocks.
pub fn least_pair(case: &Case, step: Step) -> f64 {
    let fewest_s = fewest_pairs_s(step);
    let pairs = case.role == Role::Candidate && !is_emulated(case) && fewest_s <= GRANTED_S;
    if pairs { fewest_s } else { 0.0 }
}

fn is_emulated(case: &Case) -> bool {
    case.work.model().is_some_and(|work| work.variant.emulated)
}

fn prepare_s(case: &Case, step: Step) -> f64 {
    if !case.work.has_known_cost() {
        return UNKNOWN_PREPARE_S + PREPARED_STEPS * step.seconds;
    }
    let bytes = cost::memory_bytes(case) as f64;
    let reference = cost::reference_flops(case) as f64;
    PREPARE_S + bytes / PREPARED + reference / REFERENCE + PREPARED_STEPS * step.seconds
}

fn measurement_s(case: &Case) -> f64 {
    case.settings.sampling.measurement_s.unwrap_or(cost::DEFAULT_MEASUREMENT_S)
}

fn sampling_s(case: &Case, step: Step, measurement_s: f64) -> f64 {
    let sampling = case.settings.sampling;
    let longest_s = sampling.warm_up_s.unwrap_or(cost::DEFAULT_WARM_UP_S);
    let pilot_s = (PILOT_BATCHES * step.batch_s()).min(longest_s).max(3.0 * step.seconds);
    let limits = Limits {
        budget_ns: measurement_s * 1e9,
        target: sampling.target.unwrap_or(cost::DEFAULT_TARGET),
        samples: sampling.samples,
    };
    let pilot = Pilot { step_ns: step.seconds * 1e9, noise: step.noise.unwrap_or_default() };
    let SamplePlan { samples, iters, .. } = statistics::plan_in_twos(pilot, limits);
    let warm_up_s = WARM_UP_S.max(iters as f64 * step.seconds);
    let heats_up = sampling.regime() == Regime::Sustained && case.device == Device::Cuda;
    let warm_up_s = warm_up_s + if heats_up { cost::HEAT_UP_S } else { 0.0 };
    pilot_s + warm_up_s + (samples * iters) as f64 * step.seconds + ANALYSIS_S
}

fn passes_s(case: &Case, step: Step) -> f64 {
    let latency = case.settings.latency;
    let calls =
        latency.calls.unwrap_or_else(|| statistics::single_calls(step.seconds, latency.fewest));
    let calls_s = (calls + latency.warm_up.unwrap_or_default()) as f64 * step.seconds;
    let counters_s = match case.settings.cache {
        CacheMode::Hot => COUNTERS_S.max(COUNTED * step.seconds),
        // The harness counts nothing of steps between which it flushes the cache.
        CacheMode::Cold => 0.0,
    };
    PASSES_S + calls_s + counters_s + step.seconds
}

fn fewest_pairs_s(step: Step) -> f64 {
    FEWEST_PAIRED * step.batch_s()
}

#[cfg(all(test, feature = "configs"))]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;
    use crate::expand::expand;

    fn cases(text: &str) -> Vec<Case> {
        let config = Config::parse(Path::new("test.yml"), text).expect("it is right");
        expand(&[config]).expect("it is right").cases().cloned().collect()
    }

    #[test]
    fn a_worked_example() {
        let text = "quantization_config_recipe_names: [int8wo]\npacked: false\nmodel_params: { \
                    matrix_shapes: [{ name: custom, shapes: [[10, 64, 32]] }] }";
        let cases = cases(text);
        let step = Step { seconds: 100e-6, noise: Some(0.01) };
        let [baseline, candidate] = [&cases[0], &cases[1]].map(|case| wall(case, step));
        // 20 batches of 2 ms, 5 ms, 20 samples of 2 ms, 0.1 s: the pilot's noise asks for no more.
        assert!((baseline.sampling_s - 0.185).abs() < 1e-9, "{baseline:?}");
        // 0.05 s, 500 calls for the 99th percentile, 20 ms, a step.
        assert!((baseline.passes_s - 0.1201).abs() < 1e-9, "{baseline:?}");
        assert_eq!(baseline.pairs_s, 0.0);
        let own_s = candidate.prepare_s + candidate.sampling_s + candidate.passes_s;
        assert!((candidate.pairs_s - 0.8 * 0.8 * own_s).abs() < 1e-9, "{candidate:?}");
    }

    #[test]
    fn the_least_is_less_and_a_given_time_is_what_pairs_take() {
        let text = |sampling: &str| {
            format!(
                "quantization_config_recipe_names: [int8wo]\npacked: false\nsampling: {sampling}\n\
                 model_params: {{ matrix_shapes: [{{ name: custom, shapes: [[10, 64, 32]] }}] }}"
            )
        };
        let step = Step { seconds: 10e-3, noise: Some(0.1) };
        let [usual, long] = ["{}", "{ measurement_s: 20 }"].map(|it| cases(&text(it)).remove(1));
        assert!((wall(&long, step).pairs_s - 0.8 * 20.0).abs() < 1e-9);
        assert!(wall(&usual, step).pairs_s < 5.0);
        let mut heated = usual.clone();
        heated.settings.sampling.regime = Some(Regime::Sustained);
        let sampling_s = |case: &Case| wall(case, step).sampling_s;
        assert_eq!(sampling_s(&heated), sampling_s(&usual), "a CPU is not heated up");
        heated.device = Device::Cuda;
        assert!((sampling_s(&heated) - sampling_s(&usual) - cost::HEAT_UP_S).abs() < 1e-9);
        let [usual, long] =
            [&usual, &long].map(|case| least_alone(case, step, 0.1) + least_pair(case, step));
        assert_eq!(usual, long);
        assert!(usual < 2.0, "{usual}");
    }
}
