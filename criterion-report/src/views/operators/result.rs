//! One implementation of an operator at one size.

use plan::OperatorWork;

use super::bandwidth::Bandwidths;
use super::efficiency::{Efficiency, NoEfficiency};
use super::siblings::{Siblings, Standing};
use crate::model::Caution;
use crate::model::Entry;
use crate::model::Key;
use crate::read::Report;

#[derive(Debug, Clone)]
pub struct OperatorResult<'a> {
    pub key: Key<OperatorWork>,
    /// The case as it went, measured or not, against `aten`, its baseline.
    pub entry: Entry<'a>,
    /// The part of the machine's limit that it reaches.
    pub efficiency: Result<Efficiency, NoEfficiency>,
    /// Whether it is the fastest of its siblings, shown or not.
    pub standing: Option<Standing>,
    pub cautions: Vec<Caution>,
}

impl<'a> OperatorResult<'a> {
    /// The results among a report's entries, in their order, measured or not.
    pub fn all(report: &'a Report) -> Vec<Self> {
        let siblings = Siblings::of(report);
        let bandwidths = Bandwidths::of(report.with_calibrations());
        report.entries().filter_map(|entry| Self::of(entry, &siblings, &bandwidths)).collect()
    }

    fn of(entry: Entry<'a>, siblings: &Siblings<'a>, bandwidths: &Bandwidths) -> Option<Self> {
        let row = entry.row;
        let key = Key::of(*row.record.case.work.operator()?, &row.record);
        let stream = siblings.stream(row);
        let efficiency = Efficiency::of(&entry, stream.as_ref(), bandwidths);
        let of_limit = efficiency.iter().flat_map(|it| it.cautions(row, stream.as_ref()));
        let cautions = entry.cautions().into_iter().chain(of_limit.map(Caution::from)).collect();
        Some(Self { key, entry, standing: siblings.standing(row), efficiency, cautions })
    }
}
