//! The fastest implementation at a size, as far as the intervals tell.

use std::collections::HashMap;

use plan::{Implementation, Outcome};
use statistics::Ratio;

use super::siblings::{ONE, implementation_of, over_aten};
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

/// The speed-ups of all over `aten`, or none. `aten` takes part without a record of its own, too: the
/// pairs are in the others'.
fn by_pairs<'a>(rows: &[&'a Row]) -> Option<Vec<(&'a str, Ratio)>> {
    let mut speeds = speeds(rows, over_aten)?;
    if rows.iter().all(|row| implementation_of(row) != Some(Implementation::Aten)) {
        speeds.push((Implementation::Aten.as_str(), ONE));
    }
    Some(speeds)
}

/// The speeds of all, or none.
fn speeds<'a>(rows: &[&'a Row], speed: fn(&Row) -> Option<Ratio>) -> Option<Vec<(&'a str, Ratio)>> {
    rows.iter().map(|row| Some((row.full_id(), speed(row)?))).collect()
}

/// Steps per time, the more the faster.
fn by_time(row: &Row) -> Option<Ratio> {
    let time = row.time.as_ref().ok()?;
    let Interval { low, high } = time.interval?;
    Some(Ratio { ratio: 1.0 / time.median_ns, low: 1.0 / high, high: 1.0 / low })
}

fn leaders<'a>(speeds: &[(&'a str, Ratio)]) -> HashMap<&'a str, Standing> {
    let Some((_, best)) = speeds.iter().max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio)) else {
        return HashMap::new();
    };
    let meeting = speeds.iter().filter(|(_, speed)| speed.high >= best.low);
    let meeting: Vec<&str> = meeting.map(|(id, _)| *id).collect();
    let standing = if meeting.len() == 1 { Standing::Fastest } else { Standing::Tied };
    meeting.into_iter().map(|id| (id, standing)).collect()
}
