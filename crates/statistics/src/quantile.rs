//! Quantiles of samples.

/// The quantile `q` (0 to 1) of sorted values, interpolated linearly between neighbours as NumPy
/// does by default. NaN when there are no values.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let (low, high) = (sorted[below], sorted[above]);
    low + (position - below as f64) * (high - low)
}

/// The median of values in any order. NaN when there are none.
pub fn median(values: &[f64]) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let mut values = values.to_vec();
    // The middle is found in a fraction of the time in which all are sorted.
    let (_, &mut low, above) = values.select_nth_unstable_by(last / 2, f64::total_cmp);
    let high = above.iter().copied().filter(|_| last % 2 == 1).min_by(f64::total_cmp);
    quantile(&[low, high.unwrap_or(low)], 0.5)
}

/// A robust standard deviation: 1.4826 times the median absolute deviation from the median, which
/// is σ for normal values and hardly moves when a quarter of them are outliers. NaN when there are
/// no values.
pub fn mad_sd(values: &[f64]) -> f64 {
    /// 1/Φ⁻¹(3/4).
    const NORMAL: f64 = 1.4826;
    let centre = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    NORMAL * median(&deviations)
}

/// The mean. NaN when there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a population, √(Σ (x − mean)² / n). NaN when there are no values.
pub fn population_sd(values: &[f64]) -> f64 {
    let centre = mean(values);
    mean(&values.iter().map(|value| (value - centre).powi(2)).collect::<Vec<_>>()).sqrt()
}

/// The variance of a sample, Σ (x − mean)² / (n − 1). NaN below two values.
pub fn sample_variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// Calls from which on the quantile `q` may be stated: at least five of them lie beyond it.
pub fn required_calls(q: f64) -> u64 {
    const BEYOND: f64 = 5.0;
    /// 1 − 0.9 is a little less than 0.1 in binary.
    const ROUNDING: f64 = 1e-9;
    (BEYOND / (1.0 - q) * (1.0 - ROUNDING)).ceil() as u64
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_numpy() {
        // numpy.quantile([1, 2, 4, 8], q)
        let values = [1.0, 2.0, 4.0, 8.0];
        for (q, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            assert!((quantile(&values, q) - expected).abs() < 1e-12, "q = {q}");
        }
        assert_eq!(quantile(&[3.0], 0.7), 3.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn medians_of_odd_even_and_none() {
        assert_eq!(median(&[5.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(&[5.0, 1.0, 3.0, 4.0]), 3.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn an_outlier_hardly_moves_the_deviation() {
        // Deviations from 3: 2 1 0 1 2, their median 1.
        assert_eq!(mad_sd(&[1.0, 2.0, 3.0, 4.0, 5.0]), 1.4826);
        assert_eq!(mad_sd(&[1.0, 2.0, 3.0, 4.0, 5e9]), 1.4826);
        assert_eq!(mad_sd(&[7.0; 4]), 0.0);
    }

    #[test]
    fn the_deviation_of_a_population() {
        // numpy.std([2, 4, 4, 4, 5, 5, 7, 9])
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!((mean(&values), population_sd(&values)), (5.0, 2.0));
        assert_eq!(population_sd(&[7.0]), 0.0);
        assert!(mean(&[]).is_nan() && population_sd(&[]).is_nan());
        // Far from 0, where Σx² − n·mean² has no digits left.
        assert_eq!(population_sd(&[1e9, 1e9 + 2.0]), 1.0);
    }

    #[test]
    fn five_calls_lie_beyond_a_stated_percentile() {
        let required = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999].map(required_calls);
        assert_eq!(required, [10, 20, 50, 100, 500, 5000]);
    }
}
