//! Distributions as the page's script reads them.

use serde::Serialize;

use super::strings::Figure;
use crate::model::Distribution;
use crate::units;

/// Quantiles in nanoseconds: fastest, quartiles with the median between them, 90th and 99th
/// percentile, slowest; what is not known is null. Behind them the same to be read, and the median.
#[derive(Debug, Serialize)]
pub struct Spread(Option<([Option<Figure>; 7], String, String)>);

impl Spread {
    /// The figures, and the same to be read.
    pub fn of(distribution: Option<Distribution>) -> Self {
        let Some(it) = distribution else { return Self(None) };
        let figures = [
            it.fastest_ns,
            it.lower_quartile_ns,
            Some(it.median_ns),
            it.upper_quartile_ns,
            it.p90_ns,
            it.p99_ns,
            Some(it.slowest_ns),
        ];
        let names = ["fastest", "quarter", "median", "three quarters", "90 %", "99 %", "slowest"];
        let texts = figures
            .iter()
            .zip(names)
            .filter_map(|(figure, name)| figure.map(|ns| format!("{name} {}", units::time(ns))));
        let texts: Vec<String> = texts.collect();
        let text = format!("{} of {}", texts.join(", "), it.count);
        Self(Some((figures.map(|figure| figure.map(Figure)), text, units::time(it.median_ns))))
    }
}
