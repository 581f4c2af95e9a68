//! Distributions as the page's script reads them.

use serde::Serialize;

use crate::model::Distribution;
use crate::units;

/// Quantiles as times to be read: fastest, quartiles with the median between them, 90th and 99th
/// percentile, slowest; what is not known is null. Behind them the number of times.
#[derive(Debug, Serialize)]
pub struct Spread(Option<([Option<String>; 7], u64)>);

impl Spread {
    pub fn of(distribution: Option<Distribution>) -> Self {
        Self(distribution.map(|it| {
            let quantiles = [
                it.fastest_ns,
                it.lower_quartile_ns,
                Some(it.median_ns),
                it.upper_quartile_ns,
                it.p90_ns,
                it.p99_ns,
                Some(it.slowest_ns),
            ];
            (quantiles.map(|ns| ns.map(units::time)), it.count)
        }))
    }
}
