//! Operators: how fast each implementation of an operator is, against its siblings (the implementations at the same
//! size, dtype and device) and against the machine.
//!
//! The efficiency says how near an implementation comes to what the machine can do: upstream's `gpu_efficiency`, which
//! there is 100 over the milliseconds.
//!
//! The limit is the group's `stream`, a pass over the same memory on the same threads that computes
//! nothing. Both are measured in pairs with `aten`, so their ratio is the quotient of two speed-ups:
//! `stream`'s time over one's own is (aten / own) / (aten / stream). Each of the two intervals holds
//! at its level, so the lowest and highest quotients that they allow hold at least at the sum of
//! both levels less 1: 90 % of two at 95 %.
//!
//! Nothing is cut off at 1: a plain pass is no law of nature.

mod bandwidth;
mod json;
mod means;
pub mod text;

use std::collections::HashMap;
use std::fmt;

use plan::{Implementation, Mode, OperatorWork, Outcome};
use statistics::Ratio;

use crate::model::{
    Caution,
    caution::{are_of_different_runs, differences},
};
use crate::model::{Entry, Interval, Key, Row};
use crate::model::{ExecutionContext, fingerprint};
use crate::read::Report;
pub use bandwidth::{Bandwidths, Ceiling};

/// One implementation of an operator at one size.
#[derive(Debug, Clone)]
pub struct OperatorResult<'a> {
    pub key: Key<OperatorWork>,
    /// The case as it went, measured or not, against `aten`, its baseline.
    pub entry: Entry<'a>,
    /// The part of the machine's limit that it reaches.
    pub efficiency: Result<Efficiency, NoEfficiency>,
    /// Whether it is the fastest of its siblings, shown or not.
    pub standing: Option<Rank>,
    pub cautions: Vec<Caution>,
}

impl<'a> OperatorResult<'a> {
    /// The results among a report's entries, in their order, measured or not.
    pub fn all(report: &'a Report) -> Vec<Self> {
        let family = |row: &'a Row| (&*row.record.case.id.group, &*row.record.case.id.parameter);
        let mut families: HashMap<_, Vec<Entry<'_>>> = HashMap::new();
        for (place, row) in report.rows().iter().enumerate() {
            if row.record.case.mode == Mode::Operators {
                families.entry(family(row)).or_default().push(report.entry(place));
            }
        }
        let bandwidths = Bandwidths::from_rows(report.with_calibrations());
        let result = |entry: Entry<'a>| {
            let row = entry.row;
            let key = Key::new(*row.record.case.work.operator()?, &row.record);
            let siblings = families.get(&family(row)).map_or(&[][..], Vec::as_slice);
            let stream = siblings.iter().find(|sibling| is(sibling, Implementation::Stream));
            let efficiency = Efficiency::new(&entry, stream, &bandwidths);
            let of_limit = efficiency.iter().flat_map(|it| it.cautions(row, stream));
            let of_limit = of_limit.map(Caution::from);
            let cautions = entry.cautions().into_iter().chain(of_limit).collect();
            Some(Self { key, entry, standing: Rank::from_row(row, siblings), efficiency, cautions })
        };
        report.entries().filter_map(result).collect()
    }
}

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
    fn new(
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
    fn cautions(&self, row: &Row, stream: Option<&Entry<'_>>) -> Vec<String> {
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
    let (place, limit) = (ExecutionContext::from_record(&stream.row.record), stream.row);
    if place != ExecutionContext::from_record(&row.record) || host(limit) != host(row) {
        return Some(format!("its `stream` was measured elsewhere ({place}, {})", host(limit)));
    }
    if over_aten(stream).is_some() || limit.time.is_ok() {
        return None;
    }
    let reason = limit.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(format!("`stream` has no time ({}{reason})", limit.record.outcome.status()))
}

/// The standing of an implementation among its siblings. `stream` computes nothing and is none of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// Its interval lies above all others.
    Fastest,
    /// Its interval and that of the highest value meet, and nobody is surely the fastest.
    Tied,
}

impl Rank {
    /// The standing of the row; none where another leads. Speed-ups over `aten` decide if every
    /// measured sibling has one, else the times do; if one of these lacks an interval, nobody leads.
    fn from_row(row: &Row, siblings: &[Entry<'_>]) -> Option<Self> {
        let measured = siblings.iter().copied().filter(|it| {
            it.row.record.outcome == Outcome::Measured && !is(it, Implementation::Stream)
        });
        let measured: Vec<Entry<'_>> = measured.collect();
        let speeds = by_pairs(&measured).or_else(|| by_times(&measured))?;
        let best =
            speeds.iter().map(|(_, speed)| speed).max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
        let meeting = || speeds.iter().filter(|(_, speed)| speed.high >= best.low);
        let leads = speeds.len() > 1 && meeting().any(|(id, _)| *id == row.full_id());
        leads.then(|| if meeting().count() == 1 { Self::Fastest } else { Self::Tied })
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::Fastest => "fastest",
            Self::Tied => "tie",
        }
    }
}

/// Whether the implementation computes the case as it stands: no compiler changed it.
fn is(entry: &Entry<'_>, implementation: Implementation) -> bool {
    let work = entry.row.record.case.work.operator();
    work.is_some_and(|work| work.compile.is_none() && work.implementation == implementation)
}

/// How many times faster than `aten` a measured case is, from pairs; exactly 1 of `aten` itself. None
/// of what is not measured, and without a pair.
fn over_aten(entry: &Entry<'_>) -> Option<Ratio> {
    match entry.row.record.outcome {
        Outcome::Measured if is(entry, Implementation::Aten) => Some(Ratio::ONE),
        Outcome::Measured => Some(entry.speedup()?.as_ratio()),
        _ => None,
    }
}

/// The speed-ups of all over `aten`, or none. `aten` takes part without a record of its own, too: the
/// pairs are in the others'.
fn by_pairs<'a>(entries: &[Entry<'a>]) -> Option<Vec<(&'a str, Ratio)>> {
    let mut speeds = speeds(entries, over_aten)?;
    if !entries.iter().any(|entry| is(entry, Implementation::Aten)) {
        speeds.push((Implementation::Aten.as_str(), Ratio::ONE));
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
