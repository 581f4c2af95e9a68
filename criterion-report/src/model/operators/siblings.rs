//! The implementations of one operator at one size, dtype and device, and how each compares with
//! `aten`: what comparisons among the others are made of.

use std::collections::HashMap;

use plan::{CaseId, Implementation, Mode, Outcome};
use statistics::Ratio;

use crate::model::row::Row;
use crate::model::speedup::Speedup;

/// Group and parameter: what siblings share.
type Key<'a> = (&'a str, &'a str);

/// All operator rows by their siblings, those that are not shown too.
pub struct Siblings<'a>(HashMap<Key<'a>, Vec<&'a Row>>);

impl<'a> Siblings<'a> {
    pub fn of(rows: &'a [Row]) -> Self {
        let mut siblings: HashMap<_, Vec<&Row>> = HashMap::new();
        for row in rows.iter().filter(|row| row.record.case.mode == Mode::Operators) {
            siblings.entry(key(row)).or_default().push(row);
        }
        Self(siblings)
    }

    /// The row and its siblings.
    pub fn family(&self, row: &'a Row) -> &[&'a Row] {
        self.0.get(&key(row)).map_or(&[], Vec::as_slice)
    }

    /// The sibling by `implementation`, not compiled, the row itself too.
    pub fn by(&self, row: &'a Row, implementation: Implementation) -> Option<&'a Row> {
        let mut family = self.family(row).iter().copied();
        family.find(|sibling| implementation_of(sibling) == Some(implementation))
    }
}

fn key(row: &Row) -> Key<'_> {
    let id = &row.record.case.id;
    (&id.group, &id.parameter)
}

/// The implementation that computes the row's operator as it stands; none if a compiler changed it.
pub fn implementation_of(row: &Row) -> Option<Implementation> {
    let work = row.record.case.work.operator()?;
    work.compile.is_none().then_some(work.implementation)
}

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

pub const ONE: Ratio = Ratio { ratio: 1.0, low: 1.0, high: 1.0 };

fn aten(row: &Row) -> CaseId {
    let id = &row.record.case.id;
    plan::case_id(&id.group, Implementation::Aten.as_str(), &id.parameter)
}
