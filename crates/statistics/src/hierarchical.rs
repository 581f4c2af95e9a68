//! The ratio of two sides that were each measured by several processes.
//!
//! Samples of one process share what it drew once: where its memory lies, the state of caches and
//! branch predictors, the clock and the neighbours of its minute. More samples do not average that out,
//! more *runs*, each a process of its own, do. So the statistic is the difference of the two sides'
//! means, over their runs, of ln(median of a run's samples), and its noise is that of a hierarchical
//! bootstrap (Davison and Hinkley, "Bootstrap methods and their application", 1997, section 3.8): runs
//! are drawn with replacement, then samples inside each.
//!
//! No random numbers are needed for it. The statistic is a mean over runs, so the variance over
//! all ways to draw is that of the runs' values plus the mean of the variances inside, over the
//! number of runs; and the variance of a median over all ways to draw its n samples is known
//! (Maritz and Jarrett, "A note on estimating the variance of the sample median", JASA 73, 1978):
//! it is the j-th of the sorted samples with the probability that a Beta((n+1)/2, (n+1)/2) variable
//! lies between (j−1)/n and j/n. That is exact for odd n, and for even n the usual continuation.
//!
//! The percentiles of such a bootstrap undercover where runs are few: k values drawn with
//! replacement have a variance too small by (k−1)/k, and a few of them do not know their own
//! spread. So the variance of the runs' values has the divisor k − 1, and the interval is Student's
//! with the degrees of freedom of Welch ("The generalization of 'Student's' problem", Biometrika
//! 34, 1947) and Satterthwaite (1946). `tests/simulation/sides.rs` has the coverage: 94 to 100 of
//! 100 intervals hold the true ratio from two runs on, under independent, autoregressive, bimodal,
//! drifting and outlying samples with and without shifts between runs; 95 where the shifts are most
//! of the noise, more where they are none, since the samples' noise then counts twice. The
//! percentiles' intervals hold it in 81 of 100 for three runs, 93 for eight.
//!
//! A side of one run does not show what differs between runs. [`Floor`] is that spread as it
//! was seen in other runs of one revision, and is added to its variance.

use std::cell::RefCell;
use std::rc::Rc;

use crate::distribution::{student_quantile, student_tail};
use crate::paired::{CONFIDENCE_LEVEL, Ratio};
use crate::quantile::{quantile, sample_variance, sorted};

/// Fewest samples of a run whose median has a variance.
pub const MIN_SAMPLES: usize = 10;

/// The median that one run, a process, measured of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunMedian {
    /// ln of the median of its samples.
    pub ln_median: f64,
    /// Variance of that, from the samples' own noise.
    pub variance: f64,
}

impl RunMedian {
    /// The run of positive samples in any order; none of fewer than [`MIN_SAMPLES`].
    pub fn from_samples(samples: &[f64]) -> Option<Self> {
        let usable = samples.iter().all(|value| value.is_finite() && *value > 0.0);
        if samples.len() < MIN_SAMPLES || !usable {
            return None;
        }
        let sorted = sorted(samples);
        let ln_median = quantile(&sorted, 0.5).ln();
        let (mut mean, mut square) = (0.0, 0.0);
        for (weight, value) in kept_weights(sorted.len()).iter().zip(&sorted) {
            let from_median = value.ln() - ln_median;
            mean += weight * from_median;
            square += weight * from_median * from_median;
        }
        Some(Self { ln_median, variance: (square - mean * mean).max(0.0) })
    }
}

/// [`weights`], the last of which are kept: nearly all runs have as many samples.
fn kept_weights(n: usize) -> Rc<[f64]> {
    thread_local! {
        static LAST: RefCell<Rc<[f64]>> = RefCell::new(Rc::new([]));
    }
    LAST.with_borrow_mut(|last| {
        if last.len() != n {
            *last = weights(n).into();
        }
        Rc::clone(last)
    })
}

/// The probability of each of n sorted samples to be the median of n drawn from them.
fn weights(n: usize) -> Vec<f64> {
    /// Abscissas, within −1 to 1, and weights of Gauss and Legendre's rule of four points.
    const RULE: [(f64, f64); 4] = [
        (-0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
        (-0.339_981_043_584_856_26, 0.652_145_154_862_546_2),
        (0.339_981_043_584_856_26, 0.652_145_154_862_546_2),
        (0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
    ];
    let exponent = (n as f64 - 1.0) / 2.0;
    // The density, 1 at its peak.
    let density = |x: f64| (4.0 * x * (1.0 - x)).powf(exponent);
    let cell = |j: usize| {
        let middle = (j as f64 + 0.5) / n as f64;
        RULE.iter().map(|(at, weight)| weight * density(middle + at / (2.0 * n as f64))).sum()
    };
    let mut weights: Vec<f64> = (0..n.div_ceil(2)).map(cell).collect();
    // It is symmetric.
    weights.extend_from_within(..n / 2);
    weights[n.div_ceil(2)..].reverse();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

/// The spread between runs of one revision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    /// Standard deviation of ln(median of a run).
    pub sigma: f64,
    /// Degrees of freedom of that estimate; infinitely many where it is taken for granted.
    pub freedom: f64,
}

/// A ratio of two sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SidesRatio {
    /// The geometric mean over the runs of `of`, over that of `over`, with the interval at
    /// [`CONFIDENCE_LEVEL`].
    pub ratio: Ratio,
    /// Two-sided p of a true ratio of 1, by the same distribution as the interval.
    pub p: f64,
}

/// A part of a variance and its degrees of freedom.
type VarianceTerm = (f64, f64);

/// The ratio of `of` over `over`. A side of one run has its `floor` added. None without a run.
pub fn sides_ratio(of: &[RunMedian], over: &[RunMedian], floor: Floor) -> Option<SidesRatio> {
    if of.is_empty() || over.is_empty() {
        return None;
    }
    let alone = [of, over].iter().filter(|side| side.len() == 1).count();
    // One estimate for both, so that its error is in both alike: one part.
    let shared = (alone as f64 * floor.sigma * floor.sigma, floor.freedom);
    let parts = [side_part(of), side_part(over), shared];
    let variance: f64 = parts.iter().map(|(part, _)| part).sum();
    let unsure: f64 = parts.iter().map(|(part, freedom)| part * part / freedom).sum();
    let freedom = if unsure > 0.0 { variance * variance / unsure } else { f64::INFINITY };
    let (ln, error) = (centre(of) - centre(over), variance.sqrt());
    let half = student_quantile((1.0 - CONFIDENCE_LEVEL) / 2.0, freedom) * error;
    let p = match error {
        0.0 if ln == 0.0 => 1.0,
        0.0 => 0.0,
        _ => 2.0 * student_tail(ln.abs() / error, freedom),
    };
    Some(SidesRatio { ratio: Ratio::from_ln(ln, half, half), p })
}

fn centre(runs: &[RunMedian]) -> f64 {
    runs.iter().map(|run| run.ln_median).sum::<f64>() / runs.len() as f64
}

/// The variance of a side's centre by the hierarchical bootstrap, as far as its runs show it.
fn side_part(runs: &[RunMedian]) -> VarianceTerm {
    let count = runs.len() as f64;
    let within = runs.iter().map(|run| run.variance).sum::<f64>() / count;
    if let [_] = runs {
        return (within, f64::INFINITY);
    }
    ((between_variance(runs) + within) / count, count - 1.0)
}

/// Variance of ln(median) between runs, with the divisor k − 1. NaN below two.
pub fn between_variance(runs: &[RunMedian]) -> f64 {
    let values: Vec<f64> = runs.iter().map(|run| run.ln_median).collect();
    sample_variance(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_FLOOR: Floor = Floor { sigma: 0.0, freedom: f64::INFINITY };

    fn run(ln_median: f64, variance: f64) -> RunMedian {
        RunMedian { ln_median, variance }
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn a_worked_example_of_several_runs() {
        // Means 0.2 and 0.1; variances 4e-4 and 1e-4 between, 2e-4 inside: (6e-4 + 3e-4) / 3 = 3e-4,
        // freedom 3e-4² / ((2e-4² + 1e-4²) / 2) = 3.6. t at 97.5 % is 2.8787 there.
        let of = [0.18, 0.2, 0.22].map(|ln| run(ln, 2e-4));
        let over = [0.09, 0.1, 0.11].map(|ln| run(ln, 2e-4));
        let SidesRatio { ratio, p } = sides_ratio(&of, &over, NO_FLOOR).expect("runs");
        assert_near(ratio.ratio.ln(), 0.1);
        let half = student_quantile(0.025, 3.6) * 3e-4_f64.sqrt();
        assert_near(ratio.low.ln(), 0.1 - half);
        assert_near(ratio.high.ln(), 0.1 + half);
        assert_near(p, 2.0 * student_tail(0.1 / 3e-4_f64.sqrt(), 3.6));
    }

    #[test]
    fn one_run_per_side_has_the_floor_of_both() {
        // 1e-4 + 2e-4 + 2 · 9e-4 = 2.1e-3.
        let floor = Floor { sigma: 0.03, freedom: f64::INFINITY };
        let ratio = sides_ratio(&[run(0.5, 1e-4)], &[run(0.2, 2e-4)], floor).expect("both");
        assert_near(ratio.ratio.ratio.ln(), 0.3);
        assert_near(ratio.ratio.high.ln() - 0.3, 1.959_963_984_540_054 * 2.1e-3_f64.sqrt());
        // A floor from three runs is wider, by nearly t with two degrees of freedom.
        let few = Floor { freedom: 2.0, ..floor };
        let wider = sides_ratio(&[run(0.5, 0.0)], &[run(0.2, 0.0)], few).expect("both");
        assert_near(
            wider.ratio.high.ln() - 0.3,
            student_quantile(0.025, 2.0) * 0.03 * 2.0_f64.sqrt(),
        );
        // It is of the sides of one run only.
        let several = [run(0.2, 0.0), run(0.2, 0.0)];
        let mixed = sides_ratio(&[run(0.5, 0.0)], &several, floor).expect("both");
        assert_near(mixed.ratio.high.ln() - 0.3, 1.959_963_984_540_054 * 0.03);
    }

    #[test]
    fn equal_runs_without_noise_give_a_point() {
        let same = sides_ratio(&[run(0.5, 0.0)], &[run(0.5, 0.0)], NO_FLOOR).expect("both");
        assert_eq!((same.ratio.low, same.ratio.high, same.p), (1.0, 1.0, 1.0));
        let other = sides_ratio(&[run(0.6, 0.0)], &[run(0.5, 0.0)], NO_FLOOR).expect("both");
        assert_eq!((other.ratio.low, other.p), (other.ratio.high, 0.0));
        assert_eq!(sides_ratio(&[], &[run(0.5, 0.0)], NO_FLOOR), None);
    }

    #[test]
    fn exchanging_the_sides_inverts_the_ratio() {
        let of = [0.1, 0.13, 0.2].map(|ln| run(ln, 1e-5));
        let over = [0.3, 0.31].map(|ln| run(ln, 1e-6));
        let one = sides_ratio(&of, &over, NO_FLOOR).expect("both");
        let other = sides_ratio(&over, &of, NO_FLOOR).expect("both");
        assert_near(one.ratio.ratio * other.ratio.ratio, 1.0);
        assert_near(one.ratio.low * other.ratio.high, 1.0);
        assert_near(one.p, other.p);
    }

    #[test]
    fn weights_are_what_drawing_gives() {
        // With three runs, the median is the lowest with 7/27 and the middle one with 13/27.
        for (weight, expected) in weights(3).iter().zip([7.0 / 27.0, 13.0 / 27.0, 7.0 / 27.0]) {
            assert_near(*weight, expected);
        }
        for n in [10, 11, 100, 101] {
            let weights = weights(n);
            assert_eq!(weights.len(), n);
            assert!(weights.iter().zip(weights.iter().rev()).all(|(a, b)| a == b));
            assert_near(weights.iter().sum(), 1.0);
        }
    }

    #[test]
    fn the_variance_is_that_of_medians_drawn_at_random() {
        let mut random = fastrand::Rng::with_seed(2);
        for n in [11, 31, 100] {
            let samples: Vec<f64> = (0..n).map(|_| 1.0 + 0.2 * random.f64().powi(2)).collect();
            let mut drawn = || {
                let again: Vec<f64> = samples.iter().map(|_| samples[random.usize(..n)]).collect();
                quantile(&sorted(&again), 0.5).ln()
            };
            let medians: Vec<f64> = (0..4000).map(|_| drawn()).collect();
            let by_chance = crate::quantile::population_sd(&medians);
            let sd = RunMedian::from_samples(&samples).expect("enough").variance.sqrt();
            assert!((sd / by_chance - 1.0).abs() < 0.06, "{n}: {sd} {by_chance}");
        }
    }

    #[test]
    fn the_unit_and_the_order_of_samples_are_nothing() {
        let mut samples: Vec<f64> = (0..25).map(|i| 1.0 + 0.01 * f64::from(i * i % 17)).collect();
        let before = RunMedian::from_samples(&samples).expect("enough");
        samples.reverse();
        samples.iter_mut().for_each(|value| *value *= 1e6);
        let after = RunMedian::from_samples(&samples).expect("enough");
        assert_near(after.ln_median, before.ln_median + 1e6_f64.ln());
        assert_near(after.variance, before.variance);
    }

    #[test]
    fn unusable_samples_give_nothing() {
        assert_eq!(RunMedian::from_samples(&[1.0; MIN_SAMPLES - 1]), None);
        assert_eq!(RunMedian::from_samples(&[0.0; MIN_SAMPLES]), None);
        assert_eq!(RunMedian::from_samples(&[f64::NAN; MIN_SAMPLES]), None);
        let equal = RunMedian::from_samples(&[2.0; MIN_SAMPLES]).expect("enough");
        assert_eq!(equal, run(2.0_f64.ln(), 0.0));
    }
}
