//! Several rates in three figures.

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub best: f64,
    pub mean: f64,
    pub worst: f64,
}

impl Spread {
    /// The spread of any values at all.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.collect();
        let best = values.iter().copied().reduce(f64::max)?;
        let worst = values.iter().copied().reduce(f64::min)?;
        Some(Self { best, mean: values.iter().sum::<f64>() / values.len() as f64, worst })
    }

    /// Best, mean and worst as they stand in a file; none unless all do.
    pub fn from([best, mean, worst]: [Option<f64>; 3]) -> Option<Self> {
        Some(Self { best: best?, mean: mean?, worst: worst? })
    }
}
