//! How an implementation compares with `aten`: what comparisons among the others are made of.

use plan::{CaseId, Implementation, Outcome};

use super::siblings::implementation_of;
use crate::model::row::Row;
use crate::model::speedup::Speedup;
use crate::model::time::Interval;

/// How many times faster than `aten` a measured row is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverAten {
    /// `aten`'s time over the row's.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
}

/// From pairs; exactly 1 of `aten` itself. None of what is not measured, and without a pair.
pub fn over_aten(row: &Row) -> Option<OverAten> {
    if row.record.outcome != Outcome::Measured {
        return None;
    }
    if implementation_of(row) == Some(Implementation::Aten) {
        return Some(OverAten { ratio: 1.0, interval: Interval { low: 1.0, high: 1.0 } });
    }
    let Speedup { ratio, interval, .. } = Speedup::over(Some(&aten(row)), row).ok()?;
    Some(OverAten { ratio, interval })
}

fn aten(row: &Row) -> CaseId {
    let id = &row.record.case.id;
    plan::case_id(&id.group, Implementation::Aten.as_str(), &id.parameter)
}
