//! How near an implementation comes to what the machine can do: upstream's `gpu_efficiency`, which
//! there is 100 over the milliseconds.
//!
//! The limit is the group's `stream`, a pass over the same memory on the same threads that computes
//! nothing. Both are measured in pairs with `aten`, so their ratio is the quotient of two speed-ups:
//! `stream`'s time over one's own is (aten / own) / (aten / stream). Each of the two intervals holds
//! at its level, so the lowest and highest quotients that they allow hold at least at the sum of
//! both levels less 1: 90 % of two at 95 %.
//!
//! Nothing is cut off at 1: a plain pass is no law of nature.

use std::fmt;

use plan::Outcome;

use super::bandwidth::{Bandwidths, Ceiling};
use super::siblings::over_aten;
use crate::model::Entry;
use crate::model::Interval;
use crate::model::Place;
use crate::model::Row;
use crate::model::caution::{are_of_different_runs, differences};

/// The part of a measured limit that an implementation reaches.
#[derive(Debug, Clone, PartialEq)]
pub struct Efficiency {
    /// 1 at the limit; more where it is faster than that.
    pub share: f64,
    /// Interval of the share; absent in quick mode without pairs.
    pub interval: Option<Interval>,
    pub source: EfficiencySource,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EfficiencySource {
    /// It is `stream` itself: at its limit by definition.
    Itself,
    /// `stream`, by the pairs that both have with `aten`.
    Pairs,
    /// `stream`, by the two times, which are of two moments: one side has no pair.
    Times,
    /// The bandwidth of the machine, which `calibration` measured at another moment.
    Calibration(Ceiling),
}

impl EfficiencySource {
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Itself | Self::Pairs | Self::Times => "stream",
            Self::Calibration(_) => "calibration",
        }
    }

    pub const fn ceiling(&self) -> Option<&Ceiling> {
        match self {
            Self::Calibration(ceiling) => Some(ceiling),
            Self::Itself | Self::Pairs | Self::Times => None,
        }
    }

    /// The source of the comparison; `None` for `stream` itself.
    pub const fn method(&self) -> Option<&'static str> {
        match self {
            Self::Itself => None,
            Self::Pairs => Some("pairs"),
            Self::Times | Self::Calibration(_) => Some("times"),
        }
    }
}

/// Upstream's `gpu_efficiency` in percent, which its own comment calls a placeholder: 100 below a millisecond, else 100
/// over the milliseconds. It depends on no device, size or limit, so it does not measure efficiency.
pub fn upstreams_estimate(time_ms: f64) -> f64 {
    (100.0 / time_ms).min(100.0)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoEfficiency {
    NotMeasured,
    /// It has neither a time nor a pair to go by.
    NoTime,
    NoLimit {
        stream: String,
    },
}

impl fmt::Display for NoEfficiency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured => f.write_str("it is not measured"),
            Self::NoTime => f.write_str("it has no usable time"),
            Self::NoLimit { stream } => write!(
                f,
                "{stream}, and no bandwidth of this machine on as many threads is recorded"
            ),
        }
    }
}

impl Efficiency {
    /// The efficiency of a case beside its `stream`, or else by the bandwidths of machines.
    pub fn of(
        entry: &Entry<'_>,
        stream: Option<&Entry<'_>>,
        bandwidths: &Bandwidths,
    ) -> Result<Self, NoEfficiency> {
        let row = entry.row;
        if row.record.outcome != Outcome::Measured {
            return Err(NoEfficiency::NotMeasured);
        }
        let why = match stream.map(|stream| (stream, no_limit(stream, row))) {
            None => "its group has no `stream`".to_owned(),
            Some((_, Some(why))) => why,
            Some((stream, None)) => match Self::over_stream(entry, stream) {
                Some(efficiency) => return Ok(efficiency),
                None => {
                    "it and `stream` lack a common measure: both need a pair with `aten`, or \
                         both a time"
                }
            }
            .to_owned(),
        };
        let (Some(rate), Ok(time)) = (row.gb_per_s(), &row.time) else {
            return Err(NoEfficiency::NoTime);
        };
        let ceiling = bandwidths.over(row).ok_or(NoEfficiency::NoLimit { stream: why })?;
        let bounds = time.interval.zip(ceiling.gb_per_s_interval);
        let interval = bounds.map(|(own, limit)| Interval {
            low: rate * time.median_ns / own.high / limit.high,
            high: rate * time.median_ns / own.low / limit.low,
        });
        let share = rate / ceiling.gb_per_s;
        Ok(Self { share, interval, source: EfficiencySource::Calibration(ceiling) })
    }

    /// By the pairs of both sides with `aten`; by the times where there are none.
    fn over_stream(entry: &Entry<'_>, stream: &Entry<'_>) -> Option<Self> {
        if entry.row.full_id() == stream.row.full_id() {
            let interval = Some(Interval { low: 1.0, high: 1.0 });
            return Some(Self { share: 1.0, interval, source: EfficiencySource::Itself });
        }
        if let (Some(own), Some(limit)) = (over_aten(entry), over_aten(stream)) {
            let interval = Interval { low: own.low / limit.high, high: own.high / limit.low };
            let share = own.ratio / limit.ratio;
            return Some(Self { share, interval: Some(interval), source: EfficiencySource::Pairs });
        }
        let (own, limit) = (entry.row.time.as_ref().ok()?, stream.row.time.as_ref().ok()?);
        let bounds = own.interval.zip(limit.interval);
        Some(Self {
            share: limit.median_ns / own.median_ns,
            interval: bounds.map(|(own, limit)| Interval {
                low: limit.low / own.high,
                high: limit.high / own.low,
            }),
            source: EfficiencySource::Times,
        })
    }

    /// The cautions on it, for a row beside its `stream`.
    pub fn cautions(&self, row: &Row, stream: Option<&Entry<'_>>) -> Vec<String> {
        let of_stream = || {
            let stream = stream.map(|it| it.row);
            let run = stream.filter(|stream| are_of_different_runs(stream, row));
            let run = run.map(|_| "`stream`, its limit, is of another run".to_owned());
            let differing = stream.map(|stream| differences(&stream.record, &row.record));
            let differing = differing.into_iter().flatten().map(|(what, [limit, own])| {
                format!("`stream`, its limit, differs in {what}: {limit} against {own}")
            });
            run.into_iter().chain(differing)
        };
        match &self.source {
            EfficiencySource::Itself => Vec::new(),
            EfficiencySource::Pairs => of_stream().collect(),
            EfficiencySource::Times => {
                let text = "its share of the limit is the quotient of two times of two moments: it \
                            or `stream` has no pair with `aten`";
                std::iter::once(text.to_owned()).chain(of_stream()).collect()
            }
            EfficiencySource::Calibration(ceiling) => vec![match &*ceiling.level {
                _ if !ceiling.certain => "its limit is the calibrated bandwidth of memory; its \
                                          tensors may lie in caches in part, whose limit is higher"
                    .to_owned(),
                "memory" => "its limit is the calibrated bandwidth of memory".to_owned(),
                cache => format!(
                    "its limit is the calibrated bandwidth of {cache}, in which its tensors lie"
                ),
            }],
        }
    }
}

/// Why `stream` is no limit of the row.
fn no_limit(stream: &Entry<'_>, row: &Row) -> Option<String> {
    let host = |row: &Row| row.record.environment.host.hostname.clone();
    let (place, limit) = (Place::of(&stream.row.record), stream.row);
    if place != Place::of(&row.record) || host(limit) != host(row) {
        return Some(format!("its `stream` was measured elsewhere ({place}, {})", host(limit)));
    }
    if over_aten(stream).is_some() || limit.time.is_ok() {
        return None;
    }
    let reason = limit.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(format!("`stream` has no time ({}{reason})", limit.record.outcome.status()))
}
