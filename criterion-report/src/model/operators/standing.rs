//! The fastest implementation at a size, as far as the intervals tell.

use std::collections::HashMap;

use plan::{Implementation, Outcome};

use super::over_aten::over_aten;
use super::siblings::implementation_of;
use crate::model::row::Row;
use crate::model::time::Interval;

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
    /// `fastest`, `tie`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fastest => "fastest",
            Self::Tied => "tie",
        }
    }

    /// The standing of those that lead, by full id. Speed-ups over `aten` decide if every measured
    /// sibling has one, else the times do; if one of these lacks an interval, nobody leads.
    pub fn of<'a>(siblings: &[&'a Row]) -> HashMap<&'a str, Self> {
        let measured = siblings.iter().copied().filter(|row| {
            row.record.outcome == Outcome::Measured
                && implementation_of(row) != Some(Implementation::Stream)
        });
        let measured: Vec<&Row> = measured.collect();
        let speeds = by_pairs(&measured).or_else(|| speeds(&measured, by_time));
        match speeds {
            Some(speeds) if speeds.len() > 1 => leaders(&speeds),
            _ => HashMap::new(),
        }
    }
}

/// A speed, the more the faster, with its interval.
#[derive(Debug, Clone, Copy)]
struct Speed {
    value: f64,
    interval: Interval,
}

/// The speed-ups of all over `aten`, or none. `aten` takes part without a record of its own, too: the
/// pairs are in the others'.
fn by_pairs<'a>(rows: &[&'a Row]) -> Option<Vec<(&'a str, Speed)>> {
    let mut speeds = speeds(rows, by_pair)?;
    if rows.iter().all(|row| implementation_of(row) != Some(Implementation::Aten)) {
        let interval = Interval { low: 1.0, high: 1.0 };
        speeds.push((Implementation::Aten.as_str(), Speed { value: 1.0, interval }));
    }
    Some(speeds)
}

/// The speeds of all, or none.
fn speeds<'a>(rows: &[&'a Row], speed: fn(&Row) -> Option<Speed>) -> Option<Vec<(&'a str, Speed)>> {
    rows.iter().map(|row| Some((row.full_id(), speed(row)?))).collect()
}

fn by_pair(row: &Row) -> Option<Speed> {
    over_aten(row).map(|over| Speed { value: over.ratio, interval: over.interval })
}

fn by_time(row: &Row) -> Option<Speed> {
    let time = row.time.as_ref().ok()?;
    let Interval { low, high } = time.interval?;
    let interval = Interval { low: 1.0 / high, high: 1.0 / low };
    Some(Speed { value: 1.0 / time.median_ns, interval })
}

fn leaders<'a>(speeds: &[(&'a str, Speed)]) -> HashMap<&'a str, Standing> {
    let Some((_, best)) = speeds.iter().max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value)) else {
        return HashMap::new();
    };
    let meeting = speeds.iter().filter(|(_, speed)| speed.interval.high >= best.interval.low);
    let meeting: Vec<&str> = meeting.map(|(id, _)| *id).collect();
    let standing = if meeting.len() == 1 { Standing::Fastest } else { Standing::Tied };
    meeting.into_iter().map(|id| (id, standing)).collect()
}
