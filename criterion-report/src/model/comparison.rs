//! A candidate against another case of its group.

use plan::CaseId;
use plan::cost::reduction;

use super::caution::Caution;
use super::row::Row;
use super::speedup::{NoSpeedup, Speedup};

/// A candidate's row against another case of its group.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Index of the other case among the report's rows, if it has one.
    pub baseline: Option<usize>,
    /// Speed-up, or why there is none.
    pub speedup: Result<Speedup, NoSpeedup>,
    /// 1 − candidate's weights / baseline's.
    pub weights_reduction: Option<f64>,
    /// 1 − candidate's peak / baseline's: weights, inputs and preallocated outputs are in both.
    pub peak_reduction: Option<f64>,
    /// What qualifies the numbers.
    pub cautions: Vec<Caution>,
}

impl Comparison {
    /// Compares a candidate with the case `other`, or with its group's baseline where that one's id
    /// is not known. Its row, given with its place among the rows, is needed for what is not
    /// measured in pairs: the reductions of memory.
    pub fn of(other: Option<&CaseId>, baseline: Option<(usize, &Row)>, candidate: &Row) -> Self {
        let speedup = Speedup::over(other, &candidate.record);
        let mut cautions: Vec<Caution> =
            speedup.as_ref().map(Caution::of_speedup).unwrap_or_default();
        if let (Ok(speedup), Some((_, row))) = (&speedup, baseline) {
            cautions.extend(Caution::of_times(speedup, row, candidate));
        }
        let memory = baseline
            .and_then(|(_, row)| row.record.measures.memory)
            .zip(candidate.record.measures.memory);
        if let Some((_, row)) = baseline
            && (memory.is_some() || row.time.is_ok() && candidate.time.is_ok())
        {
            cautions.extend(Caution::of_sides(&row.record, &candidate.record));
        }
        Self {
            baseline: baseline.map(|(place, _)| place),
            speedup,
            weights_reduction: memory
                .and_then(|(b, c)| reduction(b.weights_bytes, c.weights_bytes)),
            peak_reduction: memory.and_then(|(b, c)| reduction(b.peak_bytes(), c.peak_bytes())),
            cautions,
        }
    }
}
