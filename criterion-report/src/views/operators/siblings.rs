//! The implementations of one operator at one size, dtype and device: how each compares with `aten`,
//! and which is the fastest, as far as the intervals tell.

use std::collections::HashMap;

use plan::{Implementation, Mode, Outcome};
use statistics::Ratio;

use crate::model::Entry;
use crate::model::Interval;
use crate::model::Row;
use crate::model::fingerprint;
use crate::read::Report;

/// Group and parameter: what siblings share.
type Key<'a> = (&'a str, &'a str);

/// All operator cases by their siblings, those that are not shown too.
pub struct Siblings<'a>(HashMap<Key<'a>, Vec<Entry<'a>>>);

impl<'a> Siblings<'a> {
    pub fn of(report: &'a Report) -> Self {
        let mut siblings: HashMap<_, Vec<Entry<'_>>> = HashMap::new();
        for (place, row) in report.rows().iter().enumerate() {
            if row.record.case.mode == Mode::Operators {
                siblings.entry(key(row)).or_default().push(report.entry(place));
            }
        }
        Self(siblings)
    }

    /// The row and its siblings.
    fn family(&self, row: &'a Row) -> &[Entry<'a>] {
        self.0.get(&key(row)).map_or(&[], Vec::as_slice)
    }

    /// The `stream` beside the row, or the row itself if it is that.
    pub fn stream(&self, row: &'a Row) -> Option<Entry<'a>> {
        let mut family = self.family(row).iter().copied();
        family.find(|sibling| is(sibling, Implementation::Stream))
    }

    /// The standing of the row; none where another leads. Speed-ups over `aten` decide if every
    /// measured sibling has one, else the times do; if one of these lacks an interval, nobody leads.
    pub fn standing(&self, row: &'a Row) -> Option<Standing> {
        let measured = self.family(row).iter().copied().filter(|it| {
            it.row.record.outcome == Outcome::Measured && !is(it, Implementation::Stream)
        });
        let measured: Vec<Entry<'_>> = measured.collect();
        let speeds = by_pairs(&measured).or_else(|| by_times(&measured))?;
        let best =
            speeds.iter().map(|(_, speed)| speed).max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
        let meeting = || speeds.iter().filter(|(_, speed)| speed.high >= best.low);
        let leads = speeds.len() > 1 && meeting().any(|(id, _)| *id == row.full_id());
        leads.then(|| if meeting().count() == 1 { Standing::Fastest } else { Standing::Tied })
    }
}

/// The standing of an implementation among its siblings. `stream` computes nothing and is none of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its interval lies above all others.
    Fastest,
    /// Its interval and that of the highest value meet, and nobody is surely the fastest.
    Tied,
}

impl Standing {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fastest => "fastest",
            Self::Tied => "tie",
        }
    }
}

fn key(row: &Row) -> Key<'_> {
    let id = &row.record.case.id;
    (&id.group, &id.parameter)
}

/// Whether the implementation computes the case as it stands: no compiler changed it.
fn is(entry: &Entry<'_>, implementation: Implementation) -> bool {
    let work = entry.row.record.case.work.operator();
    work.is_some_and(|work| work.compile.is_none() && work.implementation == implementation)
}

/// How many times faster than `aten` a measured case is, from pairs; exactly 1 of `aten` itself. None
/// of what is not measured, and without a pair.
pub fn over_aten(entry: &Entry<'_>) -> Option<Ratio> {
    match entry.row.record.outcome {
        Outcome::Measured if is(entry, Implementation::Aten) => Some(ONE),
        Outcome::Measured => Some(entry.speedup()?.as_ratio()),
        _ => None,
    }
}

const ONE: Ratio = Ratio { ratio: 1.0, low: 1.0, high: 1.0 };

/// The speed-ups of all over `aten`, or none. `aten` takes part without a record of its own, too: the
/// pairs are in the others'.
fn by_pairs<'a>(entries: &[Entry<'a>]) -> Option<Vec<(&'a str, Ratio)>> {
    let mut speeds = speeds(entries, over_aten)?;
    if !entries.iter().any(|entry| is(entry, Implementation::Aten)) {
        speeds.push((Implementation::Aten.as_str(), ONE));
    }
    Some(speeds)
}

/// The speeds of all, or none.
fn speeds<'a>(
    entries: &[Entry<'a>],
    speed: fn(&Entry<'_>) -> Option<Ratio>,
) -> Option<Vec<(&'a str, Ratio)>> {
    entries.iter().map(|entry| Some((entry.row.full_id(), speed(entry)?))).collect()
}

/// The speeds of all by their times, or none: times of two machines do not compare.
fn by_times<'a>(entries: &[Entry<'a>]) -> Option<Vec<(&'a str, Ratio)>> {
    let mut machines = entries.iter().map(|entry| fingerprint(&entry.row.record));
    let first = machines.next()?;
    if machines.any(|machine| machine != first) {
        return None;
    }
    speeds(entries, by_time)
}

/// Steps per time, the more the faster.
fn by_time(entry: &Entry<'_>) -> Option<Ratio> {
    let time = entry.row.time.as_ref().ok()?;
    let Interval { low, high } = time.interval?;
    Some(Ratio { ratio: 1.0 / time.median_ns, low: 1.0 / high, high: 1.0 / low })
}
