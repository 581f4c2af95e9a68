//! A case with its comparisons: the candidate against other cases of its group.

use std::collections::HashSet;

use plan::CaseId;
use plan::cost::reduction;

use super::caution::Caution;
use super::gain::Gain;
use super::row::Row;
use super::speedup::{NoSpeedup, Speedup};

#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// `full_id` of the other case, where it is known.
    pub over: Option<String>,
    /// Index of the other case among the report's rows, if it has one.
    pub baseline: Option<usize>,
    /// Speed-up from pairs of the two, or why there is none.
    pub speedup: Result<Speedup, NoSpeedup>,
    /// The speed-up; for cases that were not partners, computed from the pairs of both with their
    /// group's baseline.
    pub gain: Result<Gain, NoSpeedup>,
    /// 1 − candidate's weights / baseline's.
    pub weights_reduction: Option<f64>,
    /// 1 − candidate's peak / baseline's: weights, inputs and preallocated outputs are in both.
    pub peak_reduction: Option<f64>,
    pub cautions: Vec<Caution>,
}

impl Comparison {
    /// Compares a candidate with the case `other`, or with its group's baseline where that one's id
    /// is not known. Its row, given with its place among the rows, is needed for what is not
    /// measured in pairs: the reductions of memory.
    pub fn new(other: Option<&CaseId>, baseline: Option<(usize, &Row)>, candidate: &Row) -> Self {
        let speedup = Speedup::over(other, candidate);
        let mut cautions: Vec<Caution> =
            speedup.as_ref().map(Caution::of_speedup).unwrap_or_default();
        cautions.extend(
            Speedup::lacking_runs(other, candidate).map(|it| Caution::from_lacking_runs(&it)),
        );
        if let (Ok(speedup), Some((_, row))) = (&speedup, baseline) {
            cautions.extend(Caution::of_times(speedup, row, candidate));
        }
        let memory = baseline
            .and_then(|(_, row)| row.record.measures.memory)
            .zip(candidate.record.measures.memory);
        if let Some((_, row)) = baseline
            && (memory.is_some() || row.time.is_ok() && candidate.time.is_ok())
        {
            cautions.extend(Caution::of_sides(row, candidate));
        }
        Self {
            over: other.map(ToString::to_string),
            baseline: baseline.map(|(place, _)| place),
            gain: speedup.as_ref().map(Gain::from).map_err(Clone::clone),
            speedup,
            weights_reduction: memory
                .and_then(|(b, c)| reduction(b.weights_bytes, c.weights_bytes)),
            peak_reduction: memory.and_then(|(b, c)| reduction(b.peak_bytes(), c.peak_bytes())),
            cautions,
        }
    }

    /// Compares a candidate and a sibling that may not have been its partner: both were partners of
    /// their group's `baseline`.
    pub fn of_siblings(
        other: &CaseId,
        sibling: Option<(usize, &Row)>,
        baseline: &CaseId,
        candidate: &Row,
    ) -> Self {
        let mut compared = Self::new(Some(other), sibling, candidate);
        if let (Err(_), Some((_, row))) = (&compared.gain, sibling) {
            compared.gain = Gain::over(row, baseline, candidate);
            if compared.gain.is_ok() && row.record.run_id != candidate.record.run_id {
                let text = "its gain over a case that was not its partner is derived from pairs \
                            of two runs";
                compared.cautions.push(text.into());
            }
        }
        compared
    }
}

/// A case as writers see it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub row: &'a Row,
    /// Against the baseline of its group; absent for that baseline.
    pub comparison: Option<&'a Comparison>,
    /// The row of that baseline, if it has one.
    pub baseline: Option<&'a Row>,
    /// Against the unquantized model run the same way: a compiled candidate against the compiled
    /// model. Upstream's formats mean this one. Absent for that model itself.
    pub quantization: Option<&'a Comparison>,
    /// The other side of `quantization`; the row itself where that is absent.
    pub unquantized: Option<&'a Row>,
    /// A compiled case against the same run eagerly; absent of those that are not compiled.
    pub compilation: Option<&'a Comparison>,
}

impl<'a> Entry<'a> {
    /// A row by itself, compared with nothing.
    pub const fn alone(row: &'a Row) -> Self {
        let (comparison, quantization, compilation) = (None, None, None);
        Self { row, comparison, baseline: None, quantization, unquantized: None, compilation }
    }

    /// Recipe or implementation in full: `aten+compile`.
    pub fn variant(&self) -> String {
        self.row.record.case.variant()
    }

    /// The speed-up over the baseline of its group, from interleaved pairs; none of that baseline.
    pub fn speedup(&self) -> Option<&'a Speedup> {
        self.comparison?.speedup.as_ref().ok()
    }

    /// The cautions on the case's numbers and comparisons, each text once.
    pub fn cautions(&self) -> Vec<Caution> {
        let compared = [self.comparison, self.quantization, self.compilation];
        let compared = compared.into_iter().flatten();
        let compared = compared.flat_map(|comparison| &comparison.cautions);
        let mut texts = HashSet::new();
        let cautions = self.row.cautions().into_iter().chain(compared.cloned());
        cautions.filter(|caution| texts.insert(caution.to_string())).collect()
    }
}
