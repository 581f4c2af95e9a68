//! The cost model of a training step: times of matrix products and of casts as sums of a fixed part,
//! one per operation and one per byte, fitted to what was measured.

use serde::Serialize;
use statistics::median;

/// The work of a part of a step at one shape, and the time that it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub work: Load,
    pub ns: f64,
}

/// The quantities that the cost of a step depends on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    /// Floating-point operations of the three products: 6·M·K·N.
    pub flops: f64,
    /// Bytes of the three operands, M·K + N·K + M·N, in the dtype before quantization.
    pub bytes: f64,
}

/// time = `fixed_ns` + `ns_per_flop` · flops + `ns_per_byte` · bytes; no part is negative.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CostOf"))]
pub struct Cost {
    /// Nanoseconds whatever the shape.
    pub fixed_ns: f64,
    /// Nanoseconds per floating-point operation; 0 for casts.
    pub ns_per_flop: f64,
    /// Nanoseconds per byte of the three operands.
    pub ns_per_byte: f64,
    /// Error at shapes that were left out of the fit.
    pub error: Option<ModelError>,
}

/// The parts that a cost may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terms {
    /// Casts compute next to nothing: a fixed part and bytes.
    Casts,
    /// Products: all three.
    Products,
}

/// How far a model's predictions lie from what was measured at shapes that it was not fitted to: each shape
/// is left out once. Relative to the measured value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelError {
    /// Median of the absolute errors.
    pub median: f64,
    /// The largest one.
    pub worst: f64,
    /// Shapes that it is over.
    pub shapes: usize,
}

const PARTS: usize = 3;

impl Cost {
    /// The cost with the smallest sum of squared relative errors. `None` with fewer samples than parts: a
    /// model that meets every sample shows no error.
    pub fn fit(samples: &[Sample], terms: Terms) -> Option<Self> {
        let allowed: u8 = match terms {
            Terms::Casts => 0b101,
            Terms::Products => 0b111,
        };
        if samples.len() < allowed.count_ones() as usize {
            return None;
        }
        // The best non-negative solution is the best of those subsets of parts whose own is not negative.
        let subsets = (1..=allowed).filter(|subset| subset & !allowed == 0);
        let costs = subsets.filter_map(|subset| Self::least_squares(samples, subset));
        let costs = costs.map(|cost| (cost.squared_errors(samples), cost));
        costs.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, cost)| cost)
    }

    /// Without the parts that are not in the set; `None` where one would be negative.
    fn least_squares(samples: &[Sample], subset: u8) -> Option<Self> {
        let parts: Vec<usize> = (0..PARTS).filter(|part| subset & (1 << part) != 0).collect();
        // Each line is divided by its time, which makes the errors relative; each column by its largest
        // value, which keeps the equations solvable.
        let line = |sample: &Sample| {
            let Load { flops, bytes } = sample.work;
            let all = [1.0, flops, bytes];
            parts.iter().map(|&part| all[part] / sample.ns).collect::<Vec<f64>>()
        };
        let lines: Vec<Vec<f64>> = samples.iter().map(line).collect();
        let largest = |column: usize| lines.iter().map(|line| line[column]).fold(0.0, f64::max);
        let scales: Vec<f64> = (0..parts.len()).map(largest).collect();
        if scales.contains(&0.0) {
            return None;
        }
        let scaled = |line: &[f64], column: usize| line[column] / scales[column];
        let mut equations: Vec<Vec<f64>> = (0..parts.len())
            .map(|row| {
                let products = |column: usize| {
                    lines.iter().map(|line| scaled(line, row) * scaled(line, column)).sum()
                };
                let right = lines.iter().map(|line| scaled(line, row)).sum();
                (0..parts.len()).map(products).chain([right]).collect()
            })
            .collect();
        let found = solve(&mut equations)?;
        let mut all = [0.0; PARTS];
        for (place, &part) in parts.iter().enumerate() {
            all[part] = found[place] / scales[place];
        }
        let [fixed_ns, ns_per_flop, ns_per_byte] = all;
        let is_cost = all.iter().all(|part| part.is_finite() && *part >= 0.0);
        is_cost.then_some(Self { fixed_ns, ns_per_flop, ns_per_byte, error: None })
    }

    fn squared_errors(&self, samples: &[Sample]) -> f64 {
        samples.iter().map(|sample| (self.ns(sample.work) / sample.ns - 1.0).powi(2)).sum()
    }

    pub fn ns(&self, of: Load) -> f64 {
        self.fixed_ns + self.ns_per_flop * of.flops + self.ns_per_byte * of.bytes
    }

    /// The fitted cost with its error at each sample when it is fitted to the others.
    pub fn with_error(samples: &[Sample], terms: Terms) -> Option<Self> {
        Some(Self { error: Self::error(samples, terms), ..Self::fit(samples, terms)? })
    }

    fn error(samples: &[Sample], terms: Terms) -> Option<ModelError> {
        let errors = (0..samples.len()).map(|out| {
            let cost = Self::fit(&without(samples, out), terms)?;
            Some(cost.ns(samples[out].work) / samples[out].ns - 1.0)
        });
        ModelError::from_errors(errors.flatten())
    }
}

/// The items but the one at a place.
pub fn without<T: Copy>(items: &[T], place: usize) -> Vec<T> {
    let others = items.iter().enumerate().filter(|(other, _)| *other != place);
    others.map(|(_, item)| *item).collect()
}

impl ModelError {
    /// The mean of relative errors; `None` without any.
    pub fn from_errors(errors: impl Iterator<Item = f64>) -> Option<Self> {
        let errors: Vec<f64> = errors.map(f64::abs).collect();
        let worst = errors.iter().copied().reduce(f64::max)?;
        Some(Self { median: median(&errors), worst, shapes: errors.len() })
    }
}

/// The solution of linear equations, each with its right side last, by Gauss's elimination with the largest
/// pivot; `None` where they do not determine it.
fn solve(equations: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    /// For columns whose largest value is 1: below this, two are equal within rounding.
    const SINGULAR: f64 = 1e-12;
    let count = equations.len();
    for column in 0..count {
        let size = |row: &usize| equations[*row][column].abs();
        let pivot = (column..count).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if size(&pivot) < SINGULAR {
            return None;
        }
        equations.swap(column, pivot);
        let own = equations[column].clone();
        for (_, other) in equations.iter_mut().enumerate().filter(|(row, _)| *row != column) {
            let factor = other[column] / own[column];
            other.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
        }
    }
    Some((0..count).map(|row| equations[row][count] / equations[row][row]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUE: Cost =
        Cost { fixed_ns: 5_000.0, ns_per_flop: 0.01, ns_per_byte: 0.08, error: None };

    fn grid() -> impl Iterator<Item = Load> {
        let sizes = [64.0, 256.0, 1024.0];
        let of = |m: f64, k: f64, n: f64| Load {
            flops: 6.0 * m * k * n,
            bytes: 2.0 * (m * k + n * k + m * n),
        };
        sizes.into_iter().flat_map(move |m| {
            sizes.into_iter().flat_map(move |k| sizes.into_iter().map(move |n| of(m, k, n)))
        })
    }

    fn samples(cost: Cost) -> Vec<Sample> {
        grid().map(|work| Sample { work, ns: cost.ns(work) }).collect()
    }

    fn near(one: f64, other: f64) -> bool {
        (one / other - 1.0).abs() < 1e-6
    }

    #[test]
    fn a_planted_cost_is_found() {
        let found = Cost::fit(&samples(TRUE), Terms::Products).expect("enough samples");
        assert!(near(found.fixed_ns, TRUE.fixed_ns), "{found:?}");
        assert!(near(found.ns_per_flop, TRUE.ns_per_flop), "{found:?}");
        assert!(near(found.ns_per_byte, TRUE.ns_per_byte), "{found:?}");
        let error = Cost::error(&samples(TRUE), Terms::Products).expect("enough samples");
        assert!(error.worst < 1e-6 && error.shapes == 27, "{error:?}");
    }

    #[test]
    fn casts_have_no_operations_and_no_part_is_negative() {
        let casts = Cost { ns_per_flop: 0.0, ..TRUE };
        let found = Cost::fit(&samples(casts), Terms::Casts).expect("enough samples");
        assert!(near(found.ns_per_byte, casts.ns_per_byte) && found.ns_per_flop == 0.0);
        // Times that fall with the bytes: the best cost has no such part.
        let falling: Vec<Sample> = grid()
            .map(|work| Sample { work, ns: 1e9 + 0.01 * work.flops - 0.1 * work.bytes })
            .collect();
        let found = Cost::fit(&falling, Terms::Products).expect("enough samples");
        assert_eq!(found.ns_per_byte, 0.0);
        assert!(found.fixed_ns >= 0.0 && found.ns_per_flop >= 0.0);
    }

    #[test]
    fn the_error_is_that_of_shapes_left_out() {
        let mut samples = samples(TRUE);
        samples[13].ns *= 2.0;
        let error = Cost::error(&samples, Terms::Products).expect("enough samples");
        // Left out, the odd one is predicted at half its time.
        assert!((error.worst - 0.5).abs() < 0.05 || error.worst > 0.5, "{error:?}");
        assert!(error.median < 0.2, "{error:?}");
    }

    #[test]
    fn too_few_samples_make_no_model() {
        assert_eq!(Cost::fit(&samples(TRUE)[..2], Terms::Products), None);
        assert_eq!(Cost::error(&samples(TRUE)[..3], Terms::Products), None);
        // One shape three times says nothing about three parts; one part explains it.
        let same = [samples(TRUE)[5]; 3];
        let found = Cost::fit(&same, Terms::Products).expect("one part is enough");
        assert!(near(found.ns(same[0].work), same[0].ns));
    }
}
