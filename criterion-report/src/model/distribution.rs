//! How single measurements of a case spread, in a handful of figures.

use plan::Measures;

/// Quantiles of times, in nanoseconds. A figure that the measurement does not support is absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    pub count: u64,
    pub fastest_ns: Option<f64>,
    pub lower_quartile_ns: Option<f64>,
    pub median_ns: f64,
    pub upper_quartile_ns: Option<f64>,
    /// 90th percentile; only where at least five times lie beyond it.
    pub p90_ns: Option<f64>,
    /// 99th percentile; under the same condition.
    pub p99_ns: Option<f64>,
    pub slowest_ns: f64,
}

impl Distribution {
    /// The distribution of any times at all, in any order, none of them NaN.
    pub fn new(mut times_ns: Vec<f64>) -> Option<Self> {
        times_ns.sort_unstable_by(f64::total_cmp);
        let (&fastest, &slowest) = (times_ns.first()?, times_ns.last()?);
        let count = times_ns.len() as u64;
        let at = |q: f64| statistics::quantile(&times_ns, q);
        let beyond = |q: f64| (count >= statistics::required_calls(q)).then(|| at(q));
        Some(Self {
            count,
            fastest_ns: Some(fastest),
            lower_quartile_ns: Some(at(0.25)),
            median_ns: at(0.5),
            upper_quartile_ns: Some(at(0.75)),
            p90_ns: beyond(0.9),
            p99_ns: beyond(0.99),
            slowest_ns: slowest,
        })
    }

    /// The distribution of single calls: of the calls themselves if they are recorded, else of their
    /// percentiles, which leave the quartiles and the fastest call open.
    pub fn of_calls(measures: &Measures) -> Option<Self> {
        let calls = measures.calls_ns.iter().map(|&ns| ns as f64).collect();
        Self::new(calls).or_else(|| {
            let latency = measures.latency?;
            Some(Self {
                count: latency.calls,
                fastest_ns: None,
                lower_quartile_ns: None,
                median_ns: latency.p50_ns,
                upper_quartile_ns: None,
                p90_ns: latency.p90_ns,
                p99_ns: latency.p99_ns,
                slowest_ns: latency.max_ns,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use plan::Latency;

    use super::*;

    #[test]
    fn figures_are_those_that_the_number_of_times_supports() {
        let few = Distribution::new(vec![5.0, 1.0, 2.0, 4.0, 3.0]).expect("five times");
        assert_eq!((few.count, few.fastest_ns, few.slowest_ns), (5, Some(1.0), 5.0));
        let quartiles = (few.lower_quartile_ns, few.median_ns, few.upper_quartile_ns);
        assert_eq!(quartiles, (Some(2.0), 3.0, Some(4.0)));
        assert_eq!((few.p90_ns, few.p99_ns), (None, None));
        let fifty = Distribution::new((0..50).map(f64::from).collect()).expect("fifty times");
        assert_eq!((fifty.p90_ns, fifty.p99_ns), (Some(44.1), None));
        assert_eq!(Distribution::new(Vec::new()), None);
    }

    #[test]
    fn recorded_calls_come_before_their_percentiles() {
        let latency = Latency {
            calls: 97,
            mean_ns: 12.0,
            std_ns: None,
            p50_ns: 11.0,
            p90_ns: Some(13.0),
            p99_ns: None,
            max_ns: 40.0,
        };
        let mut measures = Measures { latency: Some(latency), ..Measures::default() };
        let summary = Distribution::of_calls(&measures).expect("a summary");
        assert_eq!((summary.count, summary.median_ns, summary.slowest_ns), (97, 11.0, 40.0));
        assert_eq!((summary.fastest_ns, summary.lower_quartile_ns), (None, None));
        measures.calls_ns = vec![3, 1, 2];
        let calls = Distribution::of_calls(&measures).expect("calls");
        assert_eq!((calls.count, calls.fastest_ns), (3, Some(1.0)));
        assert_eq!(Distribution::of_calls(&Measures::default()), None);
    }
}
