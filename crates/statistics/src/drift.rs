//! Whether samples rose or fell while they were taken.
//!
//! Spearman's rank correlation ("The proof and measurement of association between two things", 1904)
//! of the order with the value says whether there is a trend; √(n − 1) times it is nearly standard
//! normal where there is none. How much it is, says the median of the later half over that of the
//! earlier one: a trend that is sure may still be too small to matter.

use crate::distribution::normal_tail;
use crate::mann_whitney::doubled_ranks;
use crate::quantile::median;

/// A trend over the samples of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Spearman's ρ of order and value, −1 to 1.
    pub correlation: f64,
    /// Two-sided p of ρ where there is no trend.
    pub p: f64,
    /// Median of the later half over that of the earlier one, minus 1.
    pub change: f64,
}

/// Fewest samples for which the normal approximation of ρ is any good.
const FEWEST: usize = 10;

/// The trend of positive samples in the order in which they were taken; none of fewer than ten, and
/// of equal ones.
pub fn drift(samples: &[f64]) -> Option<Drift> {
    let usable = samples.iter().all(|value| value.is_finite() && *value > 0.0);
    if samples.len() < FEWEST || !usable {
        return None;
    }
    let ranks = doubled_ranks(samples);
    let centre = samples.len() as f64 + 1.0;
    let (mut together, mut of_order, mut of_values) = (0.0, 0.0, 0.0);
    for (place, rank) in ranks.iter().enumerate() {
        let (order, value) = (2.0 * (place + 1) as f64 - centre, *rank as f64 - centre);
        together += order * value;
        of_order += order * order;
        of_values += value * value;
    }
    if of_values == 0.0 {
        return None;
    }
    let correlation = together / f64::sqrt(of_order * of_values);
    let (earlier, later) = samples.split_at(samples.len() / 2);
    Some(Drift {
        correlation,
        p: 2.0 * normal_tail(correlation.abs() * ((samples.len() - 1) as f64).sqrt()),
        change: median(later) / median(earlier) - 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // Σd² = 2 · 1 for one exchange of neighbours: ρ = 1 − 6 · 2 / (10 · 99).
        let samples = [10.0, 11.0, 12.0, 13.0, 15.0, 14.0, 16.0, 17.0, 18.0, 19.0];
        let drift = drift(&samples).expect("enough");
        assert!((drift.correlation - (1.0 - 12.0 / 990.0)).abs() < 1e-12);
        assert!((drift.change - (17.0 / 12.0 - 1.0)).abs() < 1e-12);
        assert!(drift.p < 0.01);
    }

    #[test]
    fn backwards_it_falls() {
        let rising: Vec<f64> = (1..=20).map(f64::from).collect();
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        let (up, down) = (drift(&rising).expect("enough"), drift(&falling).expect("enough"));
        assert!(up.correlation > 0.999 && (up.correlation + down.correlation).abs() < 1e-12);
        assert!(up.change > 0.0 && down.change < 0.0);
    }

    #[test]
    fn too_few_or_equal_samples_have_none() {
        assert_eq!(drift(&[1.0; 30]), None);
        assert_eq!(drift(&[1.0, 2.0, 3.0]), None);
        assert_eq!(drift(&[-1.0; 30]), None);
    }

    #[test]
    fn without_a_trend_p_is_below_a_twentieth_in_one_of_twenty() {
        let mut random = fastrand::Rng::with_seed(8);
        let mut samples = || (0..30).map(|_| 1.0 + random.f64()).collect::<Vec<_>>();
        let seen = (0..2000).filter(|_| drift(&samples()).expect("enough").p < 0.05).count();
        assert!((70..=130).contains(&seen), "{seen} of 2000");
    }
}
