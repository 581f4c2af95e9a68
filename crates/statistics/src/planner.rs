//! How many samples criterion takes of a case.

/// A sample is at least as long, in nanoseconds: far above the clock's resolution.
const SAMPLE_NS: f64 = 2e6;
/// Fewest samples, where the budget has room for them.
const FEWEST: u64 = 20;
/// Criterion takes no fewer.
const CRITERIONS_FEWEST: u64 = 10;
/// Most samples.
const MOST: u64 = 1000;
/// The pilot's noise is itself an estimate from few batches.
const SAFETY: f64 = 1.25;

/// What a short trial showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pilot {
    /// Time of one step, in nanoseconds.
    pub step_ns: f64,
    /// Robust standard deviation of batches as long as a sample, relative to their time.
    pub noise: f64,
}

/// What sampling may cost, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Time for all samples, in nanoseconds.
    pub budget_ns: f64,
    /// Half-width of the median's 95 % interval to aim at, relative to the median.
    pub target: f64,
    /// Number of samples that the user asked for; nothing else counts then.
    pub samples: Option<u64>,
}

/// What decided the number of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// As many as the target takes.
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
    /// What decided their number.
    pub limited_by: Limit,
}

/// Steps in a sample: as many as take 2 ms, at least one.
pub fn sample_iters(step_ns: f64) -> u64 {
    ((SAMPLE_NS / step_ns).ceil() as u64).max(1)
}

/// As many samples as the median's interval needs, within the limits.
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

/// Samples after which the median's interval is as narrow as the target, by normal approximation.
fn needed(noise: f64, target: f64) -> u64 {
    /// Φ⁻¹(0.975).
    const NORMAL: f64 = 1.96;
    /// √(π/2): standard error of a median over that of a mean.
    const MEDIAN: f64 = 1.2533;
    let root = SAFETY * NORMAL * MEDIAN * noise / target;
    ((root * root).ceil() as u64).max(FEWEST)
}
