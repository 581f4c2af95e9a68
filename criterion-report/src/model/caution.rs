//! Cautions: warnings that a reader of the numbers needs. There is one text per kind, so that rows
//! share their notes.

use std::borrow::Cow;
use std::fmt;

use plan::Record;
use serde::{Serialize, Serializer};
use statistics::Ratio;

use super::repeated::Without;
use super::row::Row;
use super::speedup::{RunsOf, Speedup};
use super::time::{Interval, Time};
use super::wide::{Level, Wide};
use crate::units;

/// A median's interval wider than this to either side, relative to the median, is pointed out.
const WIDE: f64 = 0.02;
/// A clock whose highest reading is this much above its lowest, relatively, is pointed out.
const CLOCK_MOVED: f64 = 0.05;

/// Two moments differ by this much on machines that are not quiet. The interval of one build's blocks
/// knows nothing of that, so that less is not pointed out there.
const OTHER_MOMENT: f64 = 0.15;

#[derive(Debug, Clone, PartialEq)]
pub enum Caution {
    Quick,
    /// A later run selected the case and ended before it left a new record; the text says which.
    Outdated(String),
    /// A remark that the harness or the report has already worded.
    Note(String),
    /// Not all runs that the row is of have all of it.
    NotInAllRuns(Without),
    /// The median is less certain than ±2 %.
    WideMedian,
    /// The clock moved by more than 5 % while criterion sampled.
    ClockMoved,
    Throttled {
        /// Why, in the driver's words.
        reasons: String,
    },
    /// Samples were thrown away and taken again.
    Discarded,
    /// Run back to back, the device would wait for the host.
    HostBound,
    /// The time sufficed for few blocks of the speed-up only, and each was taken for two.
    HalvedBlocks,
    /// The speed-up's interval is wider than was asked for, and that is all that its record shows.
    OutOfTime {
        /// Half-width that was asked for, relative to the ratio.
        target: f64,
    },
    /// The speed-up's interval is wider than was asked for, and its record shows why.
    Wide(Wide),
    /// The speed-up's interval and that of the quotient of the two times exclude each other.
    Disagrees {
        quotient: f64,
        /// The side that is most another beside the other one than alone, where that is recorded.
        moved: Option<Moved>,
    },
    /// The baseline's record is of another process: machine state may differ.
    DifferentRuns,
    /// The gain over another case is derived from pairs of two runs.
    QuotientOfRuns,
    Differs {
        what: &'static str,
        baseline: String,
        candidate: String,
    },
}

/// A side whose step took another time in its pair than while criterion sampled it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    pub is_baseline: bool,
    pub alone_ns: f64,
    /// Nanoseconds of a step beside the other side.
    pub beside_ns: f64,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (side, other) = match self.is_baseline {
            true => ("the baseline", "this case"),
            false => ("this case", "the baseline"),
        };
        let [alone, beside] = [self.alone_ns, self.beside_ns].map(units::time);
        write!(f, "{side} took {alone} alone and {beside} beside {other}")
    }
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quick => f.write_str("quick mode: two samples, so no interval"),
            Self::Outdated(text) | Self::Note(text) => f.write_str(text),
            Self::NotInAllRuns(without) => without.fmt(f),
            Self::WideMedian => {
                write!(f, "the interval of its time is wider than ±{} %", WIDE * 100.0)
            }
            Self::ClockMoved => {
                let share = CLOCK_MOVED * 100.0;
                write!(f, "the clock moved by more than {share} % while criterion sampled")
            }
            Self::Throttled { reasons } => {
                write!(f, "the processor slowed itself down meanwhile: {reasons}")
            }
            Self::Discarded => f.write_str(
                "samples that were taken while the processor was throttled were taken again",
            ),
            // The text names no figure: it differs from row to row, and rows share this text.
            Self::HostBound => f.write_str(
                "run back to back, the device would wait for the host: the time shown is the \
                 device's work alone, a caller waits about the `host` time of `show --details`",
            ),
            Self::HalvedBlocks => f.write_str(
                "only a few blocks fitted into the time budget; the interval uses half blocks; \
                 `sampling.measurement_s` extends it",
            ),
            Self::OutOfTime { target } => write!(
                f,
                "time budget spent before the speed-up's interval reached {}; \
                 `sampling.measurement_s` extends it",
                half_width(*target)
            ),
            Self::Wide(wide) => wide.fmt(f),
            Self::Disagrees { quotient, moved } => {
                write!(f, "the two medians give {}", units::ratio(*quotient, None))?;
                match moved {
                    Some(moved) => write!(f, ": {moved}, so the machine changed ")?,
                    None => f.write_str(": the machine changed ")?,
                }
                f.write_str(
                    "between the two moments; trust the speed-up, which compares neighbours in \
                     time",
                )
            }
            Self::DifferentRuns => f.write_str(
                "the baseline's time and memory are of another run (the speed-up does not use \
                 them)",
            ),
            Self::QuotientOfRuns => f.write_str(
                "its gain over a case that was not its partner is derived from pairs of two runs",
            ),
            Self::Differs { what, baseline, candidate } => {
                write!(f, "baseline and candidate differ in {what}: {baseline} against {candidate}")
            }
        }
    }
}

impl Serialize for Caution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Row {
    /// The cautions on the row's own numbers; in a row of several runs, those of any run.
    pub fn cautions(&self) -> Vec<Caution> {
        let time = self.time.as_ref().ok();
        let mut cautions: Vec<Caution> =
            self.failures_in_runs().map(Caution::NotInAllRuns).collect();
        cautions.extend(time.is_some_and(|time| time.quick).then_some(Caution::Quick));
        cautions.extend(time.is_some_and(is_wide).then_some(Caution::WideMedian));
        for caution in self.in_runs().flat_map(Caution::of_run) {
            if !cautions.contains(&caution) {
                cautions.push(caution);
            }
        }
        cautions
    }
}

impl Caution {
    /// A text of one line for all cautions of the kind, which a table says once, and this one's
    /// figures where there is room for them; none where the whole text is as short.
    pub fn kind(&self) -> Option<(String, Option<String>)> {
        let text = match self {
            Self::NotInAllRuns(Without { what, .. }) => {
                format!("{what} in some of the runs: the numbers are of the others")
            }
            Self::HostBound => "the time is the device's alone; a caller waits for the host \
                                (`host` in `show --details`)"
                .to_owned(),
            Self::HalvedBlocks => "only a few blocks fitted into the time budget; the interval \
                                   uses half blocks"
                .to_owned(),
            Self::OutOfTime { target } => format!(
                "time budget spent before the interval reached {} (sampling.measurement_s)",
                half_width(*target)
            ),
            Self::Wide(wide) => return Some(wide.kind()),
            Self::Disagrees { quotient, .. } => {
                let text = "the ratio of the two medians differs: the machine changed between \
                            them; believe the speed-up";
                return Some((text.to_owned(), Some(units::ratio(*quotient, None))));
            }
            Self::Differs { what, .. } => format!("baseline and candidate differ in {what}"),
            Self::Quick
            | Self::Outdated(_)
            | Self::Note(_)
            | Self::WideMedian
            | Self::ClockMoved
            | Self::Throttled { .. }
            | Self::Discarded
            | Self::DifferentRuns
            | Self::QuotientOfRuns => return None,
        };
        Some((text, None))
    }

    /// The cautions on one run, apart from those on its time.
    fn of_run(row: &Row) -> Vec<Self> {
        let measures = &row.record.measures;
        let mut cautions = Vec::new();
        let mut add = |applies: bool, caution: Self| cautions.extend(applies.then_some(caution));
        if let Some(conditions) = &measures.conditions {
            let moved = |clock: plan::Range| clock.max > clock.min * (1.0 + CLOCK_MOVED);
            let reasons = conditions.throttle_reasons.join(", ");
            add(conditions.clock_mhz.is_some_and(moved), Self::ClockMoved);
            add(!reasons.is_empty(), Self::Throttled { reasons });
            add(conditions.discarded_samples > 0, Self::Discarded);
        }
        add(measures.clocks.is_some_and(|clocks| clocks.host_bound), Self::HostBound);
        cautions.extend(row.outdated.clone().map(Self::Outdated));
        cautions.extend(row.record.notes.iter().cloned().map(Self::Note));
        cautions
    }

    pub fn of_speedup(speedup: &Speedup) -> Vec<Self> {
        let wide = speedup.fell_short().then(|| Self::of_wide(speedup));
        let halved = speedup.has_halved_blocks().then_some(Self::HalvedBlocks);
        wide.into_iter().chain(halved).collect()
    }

    fn of_wide(speedup: &Speedup) -> Self {
        let levels = speedup.levels;
        if let Some(RunsOf { count, between }) = speedup.runs {
            let level = Level::Runs(count);
            return Self::Wide(Wide { level, sigma: between, other: levels.within });
        }
        let (Some(builds), Some(within), Some(between)) =
            (levels.builds, levels.within, levels.between)
        else {
            return Self::OutOfTime { target: speedup.target };
        };
        // Either share of the variance of their mean.
        let of_builds = between * between / builds as f64;
        let of_blocks = within * within / speedup.blocks as f64;
        Self::Wide(match builds {
            1 => Wide { level: Level::BlocksOfOneBuild, sigma: within, other: None },
            _ if of_builds >= of_blocks => {
                Wide { level: Level::Builds, sigma: between, other: Some(within) }
            }
            _ => Wide { level: Level::Blocks, sigma: within, other: Some(between) },
        })
    }

    /// Whether the pairs and the two times, of one run, cannot both be right.
    pub fn of_times(speedup: &Speedup, baseline: &Row, candidate: &Row) -> Option<Self> {
        if of_different_runs(baseline, candidate) {
            return None;
        }
        let (own, others) = (candidate.time.as_ref().ok()?, baseline.time.as_ref().ok()?);
        let quotient = statistics::quotient(&with_interval(others)?, &with_interval(own)?);
        let apart = speedup.interval.high < quotient.low || quotient.high < speedup.interval.low;
        let distance = (quotient.ratio / speedup.ratio).ln().abs();
        let least = if speedup.covers_runs() { 0.0 } else { OTHER_MOMENT.ln_1p() };
        let moved = speedup.steps_ns.map(|(others_ns, own_ns)| {
            let baseline =
                Moved { is_baseline: true, alone_ns: others.median_ns, beside_ns: others_ns };
            let case = Moved { is_baseline: false, alone_ns: own.median_ns, beside_ns: own_ns };
            let by = |it: &Moved| (it.beside_ns / it.alone_ns).ln().abs();
            if by(&baseline) >= by(&case) { baseline } else { case }
        });
        (apart && distance > least).then_some(Self::Disagrees { quotient: quotient.ratio, moved })
    }

    /// The difference of two records because of which their pairs are of two experiments that do not
    /// compare. Revisions may differ: the code of one case may have changed and that of the other
    /// not.
    pub fn apart(one: &Record, other: &Record) -> Option<&'static str> {
        let pairs = circumstances(one).into_iter().zip(circumstances(other));
        let mut differing = pairs.filter(|(one, other)| one != other).map(|((what, _), _)| what);
        differing.find(|what| *what != REVISION)
    }

    /// The cautions on comparing time and memory of a baseline with those of a candidate.
    pub fn of_sides(baseline: &Row, candidate: &Row) -> Vec<Self> {
        let different = of_different_runs(baseline, candidate);
        let (baseline, candidate) = (&baseline.record, &candidate.record);
        let candidate_work = &candidate.case.work;
        let mut cautions: Vec<Self> =
            different.then_some(Self::DifferentRuns).into_iter().collect();
        for ((what, baseline), (_, candidate)) in
            circumstances(baseline).into_iter().zip(circumstances(candidate))
        {
            // Siblings of calibration differ in nothing else, and on purpose.
            let asked_for = what == "threads" && candidate_work.probe().is_some();
            if baseline != candidate && !asked_for {
                let (baseline, candidate) = (baseline.into_owned(), candidate.into_owned());
                cautions.push(Self::Differs { what, baseline, candidate });
            }
        }
        cautions
    }
}

/// `±1 %`
fn half_width(target: f64) -> String {
    format!("±{} %", (target * 1e4).round() / 1e2)
}

/// Whether a single run is that of one row only. Rows of several runs have those in common.
fn of_different_runs(one: &Row, other: &Row) -> bool {
    let several = one.runs.len() > 1 && other.runs.len() > 1;
    !several && one.record.run_id != other.record.run_id
}

/// A median with its interval, which quick mode has not.
fn with_interval(time: &Time) -> Option<Ratio> {
    let Interval { low, high } = time.interval?;
    Some(Ratio { ratio: time.median_ns, low, high })
}

fn is_wide(time: &Time) -> bool {
    time.interval.is_some_and(|interval| interval.half_width(time.median_ns) > WIDE)
}

/// The only one of the circumstances that is not of the machine.
const REVISION: &str = "git revision";

fn circumstances(record: &Record) -> [(&'static str, Cow<'_, str>); 6] {
    let environment = &record.environment;
    [
        ("machine", (&environment.host.hostname).into()),
        ("processor", (&environment.host.cpu_model).into()),
        ("libtorch", (&environment.torch.libtorch).into()),
        ("threads", environment.torch.threads.to_string().into()),
        ("allocator", (&environment.allocator).into()),
        (REVISION, environment.git_revision.as_deref().unwrap_or("none").into()),
    ]
}
