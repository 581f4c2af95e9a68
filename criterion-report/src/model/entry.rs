//! A case as writers see it.

use std::collections::HashSet;

use super::caution::Caution;
use super::comparison::Comparison;
use super::row::Row;

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

impl Entry<'_> {
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
