//! How many samples criterion takes of a case, and how many single calls are timed.

use crate::quantile::required_calls;

/// A sample is at least as long, in nanoseconds: far above the clock's resolution.
const SAMPLE_NS: f64 = 2e6;
/// Fewest samples, where the budget has room for them.
const FEWEST: u64 = 20;
/// Criterion takes no fewer.
const CRITERIONS_FEWEST: u64 = 10;
/// Most samples.
const MOST: u64 = 1000;
/// On the pilot's noise, which comes from 12 batches at most and is too low more often than too high:
/// if it is normal, one pilot of 15 finds less than half of it with 12 of them, one of 5 with 6.
const SAFETY: f64 = 1.25;
/// The total time of quiet samples of two steps, when twenty samples would last longer.
const SHORTEST_NS: f64 = 150e6;

/// The result of a short trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pilot {
    /// Time of one step, in nanoseconds.
    pub step_ns: f64,
    /// Robust standard deviation of batches as long as a sample, relative to their time. The last 12
    /// of a pilot, fewer where steps are slow; 0 of a single one, which gets the fewest samples then.
    pub noise: f64,
}

/// The cost that sampling may have, and its purpose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Time for all samples, in nanoseconds.
    pub budget_ns: f64,
    /// Half-width of the median's 95 % interval to aim at, relative to the median.
    pub target: f64,
    /// Number of samples that the user asked for; nothing else counts then.
    pub samples: Option<u64>,
}

/// The limit that decided the number of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The target decided.
    Target,
    /// The target takes more than the budget has room for, or more than a case is given.
    Budget,
    /// The user.
    Fixed,
}

/// How criterion samples a case: flat, each sample as many steps as the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplePlan {
    /// Number of samples.
    pub samples: u64,
    /// Steps in each.
    pub iters: u64,
    /// The limit that decided their number.
    pub limited_by: Limit,
}

/// Steps in a sample: as many as take 2 ms, at least one.
pub fn sample_iters(step_ns: f64) -> u64 {
    ((SAMPLE_NS / step_ns).ceil() as u64).max(1)
}

/// Plans as many samples as the median's interval needs, within the limits: at least 20, or 10 if the
/// budget has no room for 20, at most 1000. Fewer than 10 are never taken, even over the budget.
pub fn plan(pilot: Pilot, limits: Limits) -> SamplePlan {
    let iters = sample_iters(pilot.step_ns);
    if let Some(samples) = limits.samples {
        return SamplePlan { samples, iters, limited_by: Limit::Fixed };
    }
    let wanted = needed(pilot.noise, limits.target);
    let affordable = (limits.budget_ns / (iters as f64 * pilot.step_ns)) as u64;
    let most = affordable.clamp(CRITERIONS_FEWEST, MOST);
    if wanted <= most {
        SamplePlan { samples: wanted, iters, limited_by: Limit::Target }
    } else {
        SamplePlan { samples: most, iters, limited_by: Limit::Budget }
    }
}

/// As [`plan`], but where samples of one step would result, it takes half as many samples of two steps, which are as
/// precise. With one iteration per sample criterion always warns that the time does not suffice.
pub fn plan_in_twos(pilot: Pilot, limits: Limits) -> SamplePlan {
    let plan = plan(pilot, limits);
    let sample_ns = 2.0 * pilot.step_ns;
    if plan.iters > 1 || CRITERIONS_FEWEST as f64 * sample_ns > limits.budget_ns {
        return plan;
    }
    if limits.samples.is_some() {
        return SamplePlan { iters: 2, ..plan };
    }
    let some = ((SHORTEST_NS / sample_ns).ceil() as u64).clamp(CRITERIONS_FEWEST, FEWEST);
    let affordable = ((limits.budget_ns / sample_ns) as u64).max(CRITERIONS_FEWEST);
    let wanted = (plan.samples / 2).max(some);
    let limited_by = if affordable < wanted { Limit::Budget } else { plan.limited_by };
    SamplePlan { samples: wanted.min(affordable), iters: 2, limited_by }
}

/// The number of single calls of a step that takes `step_s` seconds: `fewest`, or else as many as fit into a short
/// time. Cheap steps get as many calls as a percentile needs: the 90th up to 6 ms, the 99th up to 0.6 ms.
pub fn single_calls(step_s: f64, fewest: Option<u64>) -> u64 {
    /// Seconds that the calls may take, and their fewest and most number.
    const CALLS_S: f64 = 0.05;
    const CALLS: (f64, f64) = (5.0, 1000.0);
    /// Seconds that the calls may take to reach a percentile: a fifth more than 5 ms for the 90th and 0.5 ms for the
    /// 99th take, because a pilot's step and the median of a case differ.
    const PERCENTILES_S: f64 = 0.3;
    let calls = fewest.unwrap_or((CALLS_S / step_s).clamp(CALLS.0, CALLS.1) as u64);
    let is_cheap = |needed: &u64| *needed as f64 * step_s <= PERCENTILES_S;
    let needed = [0.9, 0.99].map(required_calls).into_iter().filter(is_cheap).max();
    calls.max(needed.unwrap_or(0))
}

/// Samples after which the median's interval is as narrow as the target, by normal approximation.
fn needed(noise: f64, target: f64) -> u64 {
    /// Φ⁻¹(0.975).
    const NORMAL: f64 = 1.96;
    /// √(π/2): standard error of a median over that of a mean.
    const MEDIAN: f64 = 1.2533;
    let root = SAFETY * NORMAL * MEDIAN * noise / target;
    ((root * root).ceil() as u64).max(FEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: f64 = 1e9;

    fn limits(budget_ns: f64, target: f64) -> Limits {
        Limits { budget_ns, target, samples: None }
    }

    #[test]
    fn a_worked_example() {
        // 1.25 · 1.96 · 1.2533 · 2 % / 1 % = 6.141; its square is 37.7. 0.3 ms fit seven times.
        let pilot = Pilot { step_ns: 0.3e6, noise: 0.02 };
        let expected = SamplePlan { samples: 38, iters: 7, limited_by: Limit::Target };
        assert_eq!(plan(pilot, limits(SECOND, 0.01)), expected);
    }

    #[test]
    fn a_sample_is_long_enough_and_no_step_is_cut() {
        let iters = [0.001, 100.0, 2e6 - 1.0, 2e6, 1e12].map(sample_iters);
        assert_eq!(iters, [2_000_000_000, 20_000, 2, 1, 1]);
    }

    #[test]
    fn percentiles_get_the_calls_that_they_need_where_these_are_cheap() {
        for (step_s, calls) in [
            (1e-6, 1000),
            (40e-6, 1000),
            (0.5e-3, 500),
            (0.59e-3, 500),
            (0.7e-3, 71),
            (5e-3, 50),
            (5.9e-3, 50),
            (7e-3, 7),
            (1.0, 5),
        ] {
            assert_eq!(single_calls(step_s, None), calls, "{step_s}");
        }
        // QuASIM's thirty iterations are the fewest.
        let of_thirty = [0.1e-3, 3e-3, 10e-3].map(|step_s| single_calls(step_s, Some(30)));
        assert_eq!(of_thirty, [500, 50, 30]);
        assert_eq!(single_calls(1e-6, Some(5000)), 5000);
    }

    /// With fewer calls, the largest of them lies below the quantile too often for a 95 % interval from order
    /// statistics.
    #[test]
    fn with_the_required_calls_an_interval_of_the_percentile_exists() {
        for q in [0.9_f64, 0.99] {
            let misses = |calls: u64| q.powf(calls as f64);
            assert!(misses(required_calls(q)) < 0.025, "{q}");
            assert!(misses(required_calls(q) / 2) > 0.025, "{q}");
        }
    }

    #[test]
    fn two_steps_stand_for_one_where_they_fit() {
        let twos = |samples| {
            let limits = Limits { samples, ..limits(2.0 * SECOND, 0.01) };
            let plan = plan_in_twos(Pilot { step_ns: 3e6, noise: 0.0 }, limits);
            (plan.samples, plan.iters)
        };
        assert_eq!((twos(None), twos(Some(50))), ((20, 2), (50, 2)));
    }

    #[test]
    fn the_user_decides() {
        let pilot = Pilot { step_ns: 1e12, noise: 1.0 };
        let fixed = plan(pilot, Limits { samples: Some(77), ..limits(0.0, 0.01) });
        assert_eq!(fixed, SamplePlan { samples: 77, iters: 1, limited_by: Limit::Fixed });
    }

    #[test]
    fn slow_steps_get_what_fits_and_never_fewer_than_ten() {
        let samples = [1.0, 15.0, 20.0, 30.0].map(|seconds| {
            let planned =
                plan(Pilot { step_ns: SECOND, noise: 0.0 }, limits(seconds * SECOND, 0.01));
            (planned.samples, planned.limited_by)
        });
        let expected =
            [(10, Limit::Budget), (15, Limit::Budget), (20, Limit::Target), (20, Limit::Target)];
        assert_eq!(samples, expected);
    }

    #[test]
    fn wild_noise_gets_a_thousand_samples() {
        let planned = plan(Pilot { step_ns: 1e3, noise: 5.0 }, limits(1e15, 0.01));
        assert_eq!((planned.samples, planned.limited_by), (1000, Limit::Budget));
    }

    #[test]
    fn limits_hold_and_more_of_a_reason_is_never_fewer_samples() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..10_000 {
            let mut spread = |low: f64, high: f64| low * (high / low).powf(random.f64());
            let pilot = Pilot { step_ns: spread(1e2, 1e11), noise: spread(1e-4, 1.0) };
            let limits = limits(spread(1e8, 1e11), spread(1e-3, 0.1));
            let planned = plan(pilot, limits);
            let took = planned.samples as f64 * planned.iters as f64 * pilot.step_ns;
            assert!((10..=1000).contains(&planned.samples), "{pilot:?} {limits:?} {planned:?}");
            assert!(planned.iters as f64 * pilot.step_ns >= 2e6 * (1.0 - 1e-9));
            assert!(planned.samples == 10 || took <= limits.budget_ns * (1.0 + 1e-9));
            assert!(planned.limited_by == Limit::Budget || planned.samples >= 20);

            let factor = 1.0 + random.f64();
            let noisier = Pilot { noise: pilot.noise * factor, ..pilot };
            let laxer = Limits { target: limits.target * factor, ..limits };
            let richer = Limits { budget_ns: limits.budget_ns * factor, ..limits };
            assert!(plan(noisier, limits).samples >= planned.samples);
            assert!(plan(pilot, laxer).samples <= planned.samples);
            assert!(plan(pilot, richer).samples >= planned.samples);
        }
    }
}
