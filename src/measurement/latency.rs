//! Latency of single calls.

use plan::Latency;

use statistics::{mean, population_sd, quantile, required_calls};

/// Sums up the times of single calls, in nanoseconds; `None` without any. A percentile beyond which
/// fewer than five calls lie is left out.
pub fn summarize(ns: &[f64]) -> Option<Latency> {
    let mut sorted = ns.to_vec();
    sorted.sort_by(f64::total_cmp);
    let max_ns = *sorted.last()?;
    let calls = sorted.len() as u64;
    let percentile = |q| (calls >= required_calls(q)).then(|| quantile(&sorted, q));
    Some(Latency {
        calls,
        mean_ns: mean(&sorted),
        std_ns: Some(population_sd(&sorted)),
        p50_ns: quantile(&sorted, 0.5),
        p90_ns: percentile(0.9),
        p99_ns: percentile(0.99),
        max_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to `calls` microseconds, the slowest first.
    fn ramp(calls: u32) -> Vec<f64> {
        (1..=calls).rev().map(|us| f64::from(us) * 1e3).collect()
    }

    #[test]
    fn calls_are_summed_up() {
        let latency = summarize(&ramp(501)).unwrap();
        let expected = Latency {
            calls: 501,
            mean_ns: 251e3,
            // The variance of 1 to n is (n² − 1) / 12.
            std_ns: Some(20_916.666_666_666_668_f64.sqrt() * 1e3),
            p50_ns: 251e3,
            p90_ns: Some(451e3),
            p99_ns: Some(496e3),
            max_ns: 501e3,
        };
        let (found, exact) = (latency.std_ns.unwrap(), expected.std_ns.unwrap());
        assert!((found / exact - 1.0).abs() < 1e-12, "{found}, {exact}");
        assert_eq!(latency, Latency { std_ns: latency.std_ns, ..expected });
    }

    #[test]
    fn percentiles_need_calls_beyond_them() {
        let stated = |calls| {
            let latency = summarize(&ramp(calls)).unwrap();
            (latency.p90_ns.is_some(), latency.p99_ns.is_some())
        };
        assert_eq!(stated(49), (false, false));
        assert_eq!(stated(50), (true, false));
        assert_eq!(stated(499), (true, false));
        assert_eq!(stated(500), (true, true));
    }

    #[test]
    fn no_call_has_no_latency() {
        assert_eq!(summarize(&[]), None);
    }
}
