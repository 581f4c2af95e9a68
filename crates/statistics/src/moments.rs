//! Moments of samples.

/// The standard deviation of the values themselves (of a population, as NumPy does by default):
/// √(mean (x − x̄)²). NaN when there are no values.
pub fn std(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_numpy() {
        // numpy.std([2, 4, 4, 4, 5, 5, 7, 9])
        assert_eq!(std(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), 2.0);
        assert_eq!(std(&[3.0]), 0.0);
        assert!(std(&[]).is_nan());
    }
}
