//! Many tests at once: Holm's step-down adjustment ("A simple sequentially rejective multiple test
//! procedure", Scandinavian Journal of Statistics 6, 1979).
//!
//! The smallest p of m tests is multiplied by m, the next by m − 1, and so on; none ends below the
//! one before it, none above 1. If all whose adjusted p is below 5 % are called differences, the
//! chance that any of those without a difference is among them is at most 5 %, however the tests
//! depend on each other.

/// The adjusted p of each, in the same order. A NaN stays one and counts as no test.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).filter(|&place| !p[place].is_nan()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![f64::NAN; p.len()];
    let mut before: f64 = 0.0;
    for (step, &place) in order.iter().enumerate() {
        before = before.max(p[place] * (order.len() - step) as f64).min(1.0);
        adjusted[place] = before;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(p: &[f64], expected: &[f64]) {
        let near = holm(p).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near && p.len() == expected.len(), "{:?} is not {expected:?}", holm(p));
    }

    #[test]
    fn a_worked_example() {
        // 4 · 0.005, then 3 · 0.01, then 2 · 0.03, and no less than that for 1 · 0.04.
        close(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]);
    }

    #[test]
    fn edges() {
        close(&[], &[]);
        close(&[0.2], &[0.2]);
        close(&[0.5, 0.9], &[1.0, 1.0]);
        close(&[0.01, 0.01], &[0.02, 0.02]);
        let with_none = holm(&[0.01, f64::NAN, 0.2]);
        assert!(with_none[0] == 0.02 && with_none[1].is_nan() && with_none[2] == 0.2);
    }

    #[test]
    fn the_order_stays_and_nothing_gets_smaller() {
        let mut random = fastrand::Rng::with_seed(9);
        for count in [1, 2, 10, 100] {
            let p: Vec<f64> = (0..count).map(|_| random.f64().powi(3)).collect();
            let adjusted = holm(&p);
            for a in 0..count {
                assert!(p[a] <= adjusted[a] && adjusted[a] <= 1.0);
                let stays = |b: usize| p[a] > p[b] || adjusted[a] <= adjusted[b];
                assert!((0..count).all(stays));
            }
        }
    }

    #[test]
    fn of_true_nulls_any_is_rejected_in_at_most_one_family_of_twenty() {
        let mut random = fastrand::Rng::with_seed(4);
        let mut family = || holm(&(0..50).map(|_| random.f64()).collect::<Vec<_>>());
        let wrong = (0..2000).filter(|_| family().iter().any(|&p| p < 0.05)).count();
        assert!((60..=125).contains(&wrong), "{wrong} of 2000");
    }
}
