//! A case as writers see it.

use std::collections::HashSet;

use super::caution::Caution;
use super::comparison::Comparison;
use super::row::Row;
use super::speedup::Speedup;

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
