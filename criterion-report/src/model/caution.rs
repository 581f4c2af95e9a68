//! What a reader of the numbers must know, one text per kind, so that rows share their notes.

use std::fmt;

use plan::Record;

use super::row::Row;
use super::speedup::Speedup;
use super::time::Time;

/// A median's interval wider than this to either side, relative to the median, is pointed out.
const WIDE: f64 = 0.02;
/// A clock whose highest reading is this much above its lowest, relatively, is pointed out.
const CLOCK_MOVED: f64 = 0.05;

/// Two moments differ by this much on machines that are not quiet; more is pointed out.
const DISAGREEMENT: f64 = 0.15;

/// What qualifies a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Caution {
    /// Criterion ran in quick mode.
    Quick,
    /// A later run selected the case and ended before it left a new record; the text says which.
    Outdated(String),
    /// The harness's own words.
    Note(String),
    /// The median is less certain than ±2 %.
    WideMedian,
    /// The clock moved by more than 5 % while criterion sampled.
    ClockMoved,
    /// The processor slowed itself down.
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
    /// The speed-up's interval is wider than was asked for.
    OutOfTime {
        /// Half-width that was asked for, relative to the ratio.
        target: f64,
    },
    /// The speed-up's interval and the quotient of the two times exclude each other.
    Disagrees,
    /// The baseline's record is of another process: machine state may differ.
    DifferentRuns,
    /// What the case gains over another follows from pairs of two runs.
    QuotientOfRuns,
    /// A circumstance differs between the records of the two sides.
    Differs {
        /// Which one.
        what: &'static str,
        /// The baseline's.
        baseline: String,
        /// The candidate's.
        candidate: String,
    },
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quick => f.write_str("quick mode: two samples, so no interval"),
            Self::Outdated(text) | Self::Note(text) => f.write_str(text),
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
            // Which time that is differs from row to row, and rows share this text.
            Self::HostBound => f.write_str(
                "run back to back, the device would wait for the host: the time shown is the \
                 device's work alone, a caller waits about the `host` time of `show --details`",
            ),
            Self::HalvedBlocks => f.write_str(
                "few alternations of both sides fitted into the time of the speed-up, so that each \
                 counts as two for its interval; `sampling.measurement_s` gives it more",
            ),
            Self::OutOfTime { target } => {
                let percent = (target * 1e4).round() / 1e2;
                write!(
                    f,
                    "the time ran out before the speed-up's interval was as narrow as the \
                     ±{percent} % asked for; `sampling.measurement_s` gives it more"
                )
            }
            // What the times say differs from row to row, and rows share this text.
            Self::Disagrees => f.write_str(
                "the speed-up, from pairs, and the two times, from other moments, exclude each \
                 other: other programs had a part in one of them; measure again on a quiet machine",
            ),
            Self::DifferentRuns => f.write_str(
                "the baseline's time and memory are of another run (the speed-up is not made of \
                 them)",
            ),
            Self::QuotientOfRuns => f.write_str(
                "what it gains over a case that was not its partner follows from pairs of two runs",
            ),
            Self::Differs { what, baseline, candidate } => {
                write!(f, "baseline and candidate differ in {what}: {baseline} against {candidate}")
            }
        }
    }
}

impl Caution {
    /// What qualifies a row's own numbers.
    pub fn of_row(row: &Row) -> Vec<Self> {
        let time = row.time.as_ref().ok();
        let measures = &row.record.measures;
        let mut cautions = Vec::new();
        let mut add = |applies: bool, caution: Self| cautions.extend(applies.then_some(caution));
        add(time.is_some_and(|time| time.quick), Self::Quick);
        add(time.is_some_and(is_wide), Self::WideMedian);
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

    /// What qualifies a speed-up.
    pub fn of_speedup(speedup: &Speedup) -> Vec<Self> {
        let late = speedup.fell_short().then_some(Self::OutOfTime { target: speedup.target });
        let halved = speedup.has_halved_blocks().then_some(Self::HalvedBlocks);
        late.into_iter().chain(halved).collect()
    }

    /// Whether the pairs and the two times, of one run, cannot both be right.
    pub fn of_times(speedup: &Speedup, baseline: &Row, candidate: &Row) -> Option<Self> {
        if baseline.record.run_id != candidate.record.run_id {
            return None;
        }
        let (own, others) = (candidate.time.as_ref().ok()?, baseline.time.as_ref().ok()?);
        let (own_interval, others_interval) = (own.interval?, others.interval?);
        let (low, high) =
            (others_interval.low / own_interval.high, others_interval.high / own_interval.low);
        let apart = speedup.interval.high < low || high < speedup.interval.low;
        let factor = (others.median_ns / own.median_ns / speedup.ratio).ln().abs();
        (apart && factor > DISAGREEMENT.ln_1p()).then_some(Self::Disagrees)
    }

    /// What differs between two records so that their pairs are of two experiments that do not compare.
    /// Revisions may: the code of one case may have changed and that of the other not.
    pub fn apart(one: &Record, other: &Record) -> Option<&'static str> {
        let pairs = circumstances(one).into_iter().zip(circumstances(other));
        let mut differing = pairs.filter(|(one, other)| one != other).map(|((what, _), _)| what);
        differing.find(|what| *what != REVISION)
    }

    /// What qualifies the time and memory of a baseline beside those of a candidate.
    pub fn of_sides(baseline: &Record, candidate: &Record) -> Vec<Self> {
        let different = baseline.run_id != candidate.run_id;
        let candidate_work = &candidate.case.work;
        let mut cautions: Vec<Self> =
            different.then_some(Self::DifferentRuns).into_iter().collect();
        for ((what, baseline), (_, candidate)) in
            circumstances(baseline).into_iter().zip(circumstances(candidate))
        {
            // Siblings of calibration differ in nothing else, and on purpose.
            let asked_for = what == "threads" && candidate_work.probe().is_some();
            if baseline != candidate && !asked_for {
                cautions.push(Self::Differs { what, baseline, candidate });
            }
        }
        cautions
    }
}

fn is_wide(time: &Time) -> bool {
    time.interval.is_some_and(|interval| interval.half_width(time.median_ns) > WIDE)
}

/// The only one of the circumstances that is not of the machine.
const REVISION: &str = "git revision";

fn circumstances(record: &Record) -> [(&'static str, String); 6] {
    let environment = &record.environment;
    [
        ("machine", environment.host.hostname.clone()),
        ("processor", environment.host.cpu_model.clone()),
        ("libtorch", environment.torch.libtorch.clone()),
        ("threads", environment.torch.threads.to_string()),
        ("allocator", environment.allocator.clone()),
        (REVISION, environment.git_revision.clone().unwrap_or_else(|| "none".to_owned())),
    ]
}
