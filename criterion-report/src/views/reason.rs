//! Explains an answer by the statement about one of its cases.

use plan::Device;
use serde::Serialize;

use crate::model::Entry;
use crate::read::Report;
use crate::views::explain::{Explainer, Statement};

/// The reason for an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// The case that it is about; if there are several, the one that takes the longest.
    pub full_id: String,
    /// The statement about it.
    pub statement: Statement,
}

/// Explains the cases behind answers.
pub struct Reasons<'a>(Explainer<'a>);

impl<'a> Reasons<'a> {
    pub fn new(report: &'a Report) -> Self {
        Self(Explainer::new(report))
    }

    /// The reason for an answer from these cases. An `unexplained` statement is not a reason.
    pub fn among(&self, cases: impl Iterator<Item = Entry<'a>>) -> Option<Reason> {
        let time = |entry: &Entry<'_>| entry.row.time.as_ref().map_or(0.0, |time| time.median_ns);
        let longest = cases.max_by(|a, b| time(a).total_cmp(&time(b)))?;
        let explanation = self.0.explain(&longest)?;
        let profiled = explanation.profile.is_some();
        let baseline = longest.baseline.map(|row| row.full_id());
        // Where it is unknown in which cache the data lie, the bandwidth of memory is no limit.
        let on_host = longest.row.record.case.device == Device::Cpu;
        let is_certain =
            !on_host || explanation.limit.as_ref().is_none_or(|limit| limit.level_is_certain);
        let says = |it: &&Statement| {
            says_something(it, profiled, baseline)
                && (is_certain || !matches!(it, Statement::MemoryBound { .. }))
        };
        let comparing = explanation.statements.iter().find(|it| it.is_comparison() && says(it));
        let statement = comparing.or_else(|| explanation.statements.iter().find(says))?.clone();
        Some(Reason { full_id: longest.row.full_id().to_owned(), statement })
    }
}

/// Without a profile, a different operation for the product adds nothing to the speed-up, unless it comes from another
/// library. An answer compares with the baseline, so a sibling's implementation of attention is no reason for it.
fn says_something(of: &Statement, profiled: bool, baseline: Option<&str>) -> bool {
    match of {
        Statement::Unexplained { .. } => false,
        Statement::OtherDispatch { other, .. } => baseline == Some(other),
        Statement::OtherLibrary { library, instead_of_library, .. } => {
            profiled || library != instead_of_library
        }
        _ => true,
    }
}
