//! How much criterion samples a case: planned from the pilot, where nobody said otherwise.
//!
//! Criterion's own plan is a fixed time for every case. It takes hundreds of times more samples of
//! a quiet case than its median needs, and its warm-up, which doubles the iterations until a limit
//! is passed, can overshoot the limit many times over. Here the pilot has warmed the case up, so
//! criterion's warm-up is short, and all samples are equally long (flat), because the median over
//! samples of unequal length is that of the noisiest.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, SamplingMode};
use plan::{Case, Device, Planned, Regime, Settings, Stop, cost};
use statistics::{Limit, Limits, SamplePlan};

use super::args::Args;
use super::budget;
use super::pilot::Pilot;

/// Criterion warms up for as long again as a few samples; it wants to see the time for itself.
pub const CRITERIONS_WARM_UP: Duration = Duration::from_millis(5);
/// Fewer batches than this do not show the noise.
const FEW_BATCHES: u64 = 6;

/// Seconds that the pilot may take.
pub fn warm_up_s(settings: &Settings, args: &Args) -> f64 {
    let configured = settings.sampling.warm_up_s.unwrap_or(cost::DEFAULT_WARM_UP_S);
    args.flags.warm_up_time.unwrap_or(configured)
}

/// Half-width to aim at.
pub fn target(settings: &Settings) -> f64 {
    settings.sampling.target.unwrap_or(cost::DEFAULT_TARGET)
}

/// Seconds that sampling may take.
pub fn budget_s(settings: &Settings, args: &Args) -> f64 {
    let seconds = asked_s(settings, args).unwrap_or(cost::DEFAULT_MEASUREMENT_S);
    if args.flags.budget.is_some() { seconds.min(budget::SAMPLING_S) } else { seconds }
}

/// Seconds of measurement that somebody has asked for; the pairs may take as long.
pub fn asked_s(settings: &Settings, args: &Args) -> Option<f64> {
    args.flags.measurement_time.or(settings.sampling.measurement_s)
}

/// Sets criterion up for a case; what was planned.
pub fn apply(
    group: &mut BenchmarkGroup<'_, WallTime>,
    settings: &Settings,
    args: &Args,
    pilot: Pilot,
) -> Planned {
    let budget_s = budget_s(settings, args);
    let plan = plan(settings, args, pilot, budget_s);
    group.sampling_mode(SamplingMode::Flat);
    group.warm_up_time(CRITERIONS_WARM_UP);
    group.sample_size(usize::try_from(plan.samples).unwrap_or(usize::MAX));
    // Criterion divides and rounds up: half an iteration less keeps noise from adding one.
    let iterations = plan.samples as f64 * (plan.iters as f64 - 0.5);
    let planned_s = iterations * pilot.wall_ns / 1e9;
    let measurement_s = args.flags.measurement_time.unwrap_or(planned_s);
    group.measurement_time(Duration::from_secs_f64(measurement_s.max(1e-6)));
    Planned {
        step_ns: pilot.step_ns,
        noise: (pilot.batches >= FEW_BATCHES).then_some(pilot.noise),
        samples: plan.samples,
        iters: plan.iters,
        target: target(settings),
        limited_by: match plan.limited_by {
            Limit::Target => Stop::Target,
            Limit::Budget => Stop::Budget,
            Limit::Fixed => Stop::Fixed,
        },
    }
}

/// Why the regime that a config asks for changes nothing on the case's device.
pub fn ignored_regime(case: &Case) -> Option<String> {
    let is_asked = case.settings.sampling.regime() == Regime::Sustained;
    (is_asked && case.device != Device::Cuda).then(|| {
        format!(
            "`sampling.regime: sustained` is ignored on {}: the clock in a sample is known on cuda alone",
            case.device
        )
    })
}

fn plan(settings: &Settings, args: &Args, pilot: Pilot, budget_s: f64) -> SamplePlan {
    let limits = Limits {
        budget_ns: budget_s * 1e9,
        target: target(settings),
        samples: args.flags.sample_size.or(settings.sampling.samples),
    };
    let step = statistics::Pilot { step_ns: pilot.wall_ns, noise: pilot.noise };
    let plan = statistics::plan_in_twos(step, limits);
    // A few batches do not show the noise, so the target cannot be said to be met.
    match plan.limited_by {
        Limit::Target if pilot.batches < FEW_BATCHES => {
            SamplePlan { limited_by: Limit::Budget, ..plan }
        }
        _ => plan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(step_ns: f64, noise: f64, samples: Option<u64>) -> (u64, u64) {
        let mut settings = Settings::default();
        settings.sampling.samples = samples;
        let args = Args::read(["bench", "--bench"].map(str::to_owned)).expect("valid arguments");
        let pilot =
            Pilot { step_ns, wall_ns: step_ns, fastest_wall_ns: step_ns, noise, batches: 12 };
        let SamplePlan { samples, iters, .. } = plan(&settings, &args, pilot, 2.0);
        (samples, iters)
    }

    #[test]
    fn short_steps_are_sampled_by_the_plan() {
        assert_eq!(planned(100e3, 0.0, None), (20, 20), "samples of 2 ms");
    }

    #[test]
    fn criterion_never_sees_one_iteration_where_two_fit() {
        assert_eq!(planned(3e6, 0.0, None), (20, 2));
        assert_eq!(planned(10e6, 0.0, None), (10, 2));
        assert_eq!(planned(99e6, 0.0, None), (10, 2), "what the budget has room for");
        assert_eq!(planned(101e6, 0.0, None), (19, 1));
        assert_eq!(planned(3e6, 0.0, Some(50)), (50, 2));
    }

    #[test]
    fn noise_asks_for_more_up_to_the_budget() {
        let (samples, _) = planned(10e6, 0.03, None);
        assert!((20..=50).contains(&samples), "{samples}");
        assert_eq!(planned(10e6, 0.5, None), (100, 2));
    }

    #[test]
    fn what_limits_is_what_is_said() {
        let limit = |noise: f64, batches: u64| {
            let args = ["bench", "--bench"].map(str::to_owned);
            let args = Args::read(args).expect("valid arguments");
            let pilot =
                Pilot { step_ns: 10e6, wall_ns: 10e6, fastest_wall_ns: 10e6, noise, batches };
            plan(&Settings::default(), &args, pilot, 2.0).limited_by
        };
        assert_eq!(limit(0.001, 12), Limit::Target);
        assert_eq!(limit(0.5, 12), Limit::Budget);
        assert_eq!(limit(0.0, 1), Limit::Budget, "one batch shows no noise");
    }
}
