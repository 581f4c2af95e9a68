//! How an implementation compares with `aten`: what comparisons among the others are made of.

use plan::{CaseId, Implementation, Outcome};
use statistics::Ratio;

use super::siblings::implementation_of;
use crate::model::row::Row;
use crate::model::speedup::Speedup;

/// How many times faster than `aten` a measured row is, from pairs; exactly 1 of `aten` itself. None of
/// what is not measured, and without a pair.
pub fn over_aten(row: &Row) -> Option<Ratio> {
    if row.record.outcome != Outcome::Measured {
        return None;
    }
    if implementation_of(row) == Some(Implementation::Aten) {
        return Some(ONE);
    }
    Speedup::over(Some(&aten(row)), row).ok().map(|speedup| speedup.as_ratio())
}

/// `aten` over itself.
pub const ONE: Ratio = Ratio { ratio: 1.0, low: 1.0, high: 1.0 };

fn aten(row: &Row) -> CaseId {
    let id = &row.record.case.id;
    plan::case_id(&id.group, Implementation::Aten.as_str(), &id.parameter)
}
