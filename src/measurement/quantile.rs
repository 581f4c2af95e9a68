//! Quantiles of sorted values.

/// The quantile `q` (0 to 1), interpolated between neighbours; NaN without values.
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + place.fract() * (high - low)
}

/// Calls from which on the quantile `q` may be stated: five lie beyond it.
pub(super) fn required_calls(q: f64) -> u64 {
    // 1 − 0.9 is a little less than a tenth, and five divided by it more than fifty.
    (5.0 / (1.0 - q) - 1e-6).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [10.0, 20.0, 40.0];
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|q| quantile(&values, q)),
            [10.0, 15.0, 20.0, 30.0, 40.0]
        );
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn the_further_out_the_more_calls() {
        assert_eq!([0.5, 0.9, 0.99].map(required_calls), [10, 50, 500]);
    }
}
