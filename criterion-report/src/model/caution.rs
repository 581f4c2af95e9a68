//! Cautions: warnings that a reader of the numbers needs. There is one text per kind, so that rows
//! share their notes.

use std::borrow::Cow;
use std::fmt;

use plan::{Device, Record, Regime};
use serde::Serialize;
use statistics::Ratio;

use super::repeated::RunsLackingValue;
use super::row::Row;
use super::speedup::{BetweenRuns, Speedup, VarianceComponents};
use super::time::Time;
use crate::render::units;

/// A median's interval wider than this to either side, relative to the median, is pointed out.
const WIDE: f64 = 0.02;
/// A clock whose highest reading is this much above its lowest, relatively, is pointed out.
const CLOCK_MOVED: f64 = 0.05;

/// Two moments differ by this much on machines that are not quiet. The interval of one build's blocks
/// knows nothing of that, so that less is not pointed out there.
const OTHER_MOMENT: f64 = 0.15;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Caution {
    text: String,
    /// A line for all cautions of the kind, which a table says once, and this one's figures where
    /// there is room for them; none where the whole text is as short.
    #[serde(skip)]
    kind: Option<(String, Option<String>)>,
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: Into<String>> From<T> for Caution {
    fn from(text: T) -> Self {
        Self { text: text.into(), kind: None }
    }
}

impl Row {
    /// The cautions on the row's own numbers; in a row of several runs, those of any run.
    pub fn cautions(&self) -> Vec<Caution> {
        let time = self.time.as_ref().ok();
        let mut cautions: Vec<Caution> =
            self.failures_in_runs().map(|it| Caution::from_lacking_runs(&it)).collect();
        if time.is_some_and(|time| time.quick) {
            cautions.push("quick mode: two samples, so no interval".into());
        }
        if time.is_some_and(is_wide) {
            let percent = WIDE * 100.0;
            let text = format!("the interval of its time is wider than ±{percent} %");
            cautions.push(text.into());
        }
        for caution in self.in_runs().flat_map(of_run) {
            if !cautions.contains(&caution) {
                cautions.push(caution);
            }
        }
        cautions
    }
}

/// The cautions on one run, apart from those on its time.
fn of_run(row: &Row) -> Vec<Caution> {
    let measures = &row.record.measures;
    let mut cautions: Vec<Caution> = Vec::new();
    if let Some(conditions) = &measures.conditions {
        let moved = |clock: plan::Range| clock.max > clock.min * (1.0 + CLOCK_MOVED);
        if conditions.clock_mhz.is_some_and(moved) {
            let share = CLOCK_MOVED * 100.0;
            let text = format!("the clock moved by more than {share} % while criterion sampled");
            cautions.push(text.into());
        }
        let reasons = conditions.throttle_reasons.join(", ");
        if !reasons.is_empty() {
            let text = format!("the processor slowed itself down meanwhile: {reasons}");
            cautions.push(text.into());
        }
        if conditions.discarded_samples > 0 {
            let text = "samples that were taken while the processor was throttled were taken again";
            cautions.push(text.into());
        }
        if conditions.regime == Some(Regime::Sustained) {
            let text = "sustained: the GPU ran at the clock that it keeps up under this load, not at that of short work";
            cautions.push(text.into());
        }
    }
    if measures.clocks.is_some_and(|clocks| clocks.host_bound) {
        // The text names no figure: it differs from row to row, and rows share this text.
        let text = "run back to back, the device would wait for the host: the time shown is the \
                    device's work alone, a caller waits about the `host` time of `show --details`";
        cautions.push(Caution::from(text).of_kind(
            "the time is the device's alone; a caller waits for the host (`host` in `show \
             --details`)",
        ));
    }
    if row.is_contended() {
        let text = "other programs often took the CPUs from it: its times are partly theirs; stop \
                    them and measure again";
        cautions.push(text.into());
    }
    cautions.extend(row.not_judged().map(|why| format!("not judged: {why}").into()));
    let worded = row.outdated.iter().chain(&row.record.notes);
    cautions.extend(worded.map(|text| text.as_str().into()));
    cautions
}

impl Caution {
    /// The line that a table says once for all cautions of the kind, and this one's figures; none
    /// where the whole text is as short.
    pub fn kind(&self) -> Option<(&str, Option<&str>)> {
        self.kind.as_ref().map(|(line, figures)| (line.as_str(), figures.as_deref()))
    }

    fn of_kind(self, line: impl Into<String>) -> Self {
        Self { kind: Some((line.into(), None)), ..self }
    }

    pub(crate) fn with_figures(self, line: impl Into<String>, figures: String) -> Self {
        Self { kind: Some((line.into(), Some(figures))), ..self }
    }

    /// Not all runs that the row is of have all of it.
    pub fn from_lacking_runs(runs: &RunsLackingValue) -> Self {
        let line = format!("{} in some of the runs: the numbers are of the others", runs.what);
        Self::from(runs.to_string()).of_kind(line)
    }

    pub fn of_speedup(speedup: &Speedup) -> Vec<Self> {
        let halved = || {
            let text = "only a few blocks fitted into the time budget; the interval uses half \
                        blocks; `sampling.measurement_s` extends it";
            Self::from(text).of_kind(
                "only a few blocks fitted into the time budget; the interval uses half blocks",
            )
        };
        let wide = speedup.fell_short().then(|| Self::wide(speedup));
        wide.into_iter().chain(speedup.has_halved_blocks().then(halved)).collect()
    }

    /// The speed-up's interval is wider than was asked for: the values that widen it most, as far as
    /// its record shows them.
    fn wide(speedup: &Speedup) -> Self {
        let VarianceComponents { builds, within, between } = speedup.levels;
        // The values, their standard deviation, that of another level, and what would narrow the
        // interval.
        let (values, sigma, other, remedy) = match (speedup.runs, builds, within, between) {
            (Some(BetweenRuns { count, between }), ..) => {
                let remedy =
                    format!("more runs narrow it (cargo torch-bench bench --repeat {})", 2 * count);
                ("runs", between, within.map(|it| ("blocks", it)), remedy)
            }
            (None, Some(1), Some(within), Some(_)) => {
                let remedy = "more sampling.measurement_s fits more builds".to_owned();
                ("blocks of the only build", within, None, remedy)
            }
            (None, Some(builds), Some(within), Some(between)) => {
                // Either share of the variance of their mean.
                let of_builds = between * between / builds as f64;
                let of_blocks = within * within / speedup.blocks as f64;
                if of_builds >= of_blocks {
                    let remedy = "several runs say more (cargo torch-bench bench --repeat 4)";
                    ("builds", between, Some(("blocks", within)), remedy.to_owned())
                } else {
                    let remedy = "a quieter machine or more sampling.measurement_s helps";
                    ("blocks", within, Some(("builds", between)), remedy.to_owned())
                }
            }
            (None, ..) => return Self::out_of_time(speedup.target),
        };
        let percent = |sigma: f64| units::significant(sigma * 100.0, 2);
        let sigma = percent(sigma);
        let other = other.map(|(others, sigma)| (others, percent(sigma)));
        let [in_text, in_kind, in_figures] = match other {
            Some((others, other)) => {
                [format!(" ({others} {other} %)"), format!(" (of {others})"), format!(" ({other})")]
            }
            None => Default::default(),
        };
        Self::from(format!(
            "the speed-up's interval is wide as {values} differ by σ {sigma} %{in_text}: {remedy}"
        ))
        .with_figures(format!("wide: σ of {values}{in_kind} in %; {remedy}"), sigma + &in_figures)
    }

    /// The speed-up's interval is wider than was asked for, and that is all that its record shows.
    fn out_of_time(target: f64) -> Self {
        let target = format!("±{} %", (target * 1e4).round() / 1e2);
        let line = format!(
            "time budget spent before the interval reached {target} (sampling.measurement_s)"
        );
        Self::from(format!(
            "time budget spent before the speed-up's interval reached {target}; \
             `sampling.measurement_s` extends it"
        ))
        .of_kind(line)
    }

    /// Whether the pairs and the two times, of one run, cannot both be right: the interval of the
    /// speed-up and that of the quotient of the two times exclude each other.
    pub fn of_times(speedup: &Speedup, baseline: &Row, candidate: &Row) -> Option<Self> {
        if are_of_different_runs(baseline, candidate) {
            return None;
        }
        let (own, others) = (candidate.time.as_ref().ok()?, baseline.time.as_ref().ok()?);
        let quotient = statistics::quotient(&with_interval(others)?, &with_interval(own)?);
        let apart = speedup.interval.high < quotient.low || quotient.high < speedup.interval.low;
        let distance = (quotient.ratio / speedup.ratio).ln().abs();
        let least = if speedup.covers_runs() { 0.0 } else { OTHER_MOMENT.ln_1p() };
        if !(apart && distance > least) {
            return None;
        }
        // The side that is most another beside the other one than alone, where that is recorded.
        let moved = speedup.steps_ns.map(|(others_ns, own_ns)| {
            let by = |alone: f64, beside: f64| (beside / alone).ln().abs();
            let is_baseline = by(others.median_ns, others_ns) >= by(own.median_ns, own_ns);
            let (side, other, alone, beside) = match is_baseline {
                true => ("the baseline", "this case", others.median_ns, others_ns),
                false => ("this case", "the baseline", own.median_ns, own_ns),
            };
            let [alone, beside] = [alone, beside].map(units::time);
            format!(" {side} took {alone} alone and {beside} beside {other}, so")
        });
        let moved = moved.unwrap_or_default();
        let quotient = units::ratio(quotient.ratio, None);
        let changed = match candidate.record.case.device {
            Device::Cpu => "the machine changed between",
            // Two sides in turn find other things in its caches than each alone, and another clock.
            _ => "the device's caches or clocks were not the same in",
        };
        let line =
            format!("the ratio of the two medians differs: {changed} them; believe the speed-up");
        let text = format!(
            "the two medians give {quotient}:{moved} {changed} the two moments; trust the speed-up, \
             which compares neighbours in time"
        );
        Some(Self::from(text).with_figures(line, quotient))
    }

    /// The cautions on comparing time and memory of a baseline with those of a candidate.
    pub fn of_sides(baseline: &Row, candidate: &Row) -> Vec<Self> {
        const OTHER_RUN: &str = "the baseline's time and memory are of another run (the speed-up \
                                 does not use them)";
        let run = are_of_different_runs(baseline, candidate).then(|| OTHER_RUN.into());
        // Siblings of calibration differ in nothing else, and on purpose.
        let asked_for =
            |what: &str| what == "threads" && candidate.record.case.work.probe().is_some();
        let differing = differences(&baseline.record, &candidate.record);
        let differing = differing.filter(|(what, _)| !asked_for(what));
        let differing = differing.map(|(what, [baseline, candidate])| {
            let line = format!("baseline and candidate differ in {what}");
            Self::from(format!("{line}: {baseline} against {candidate}")).of_kind(line)
        });
        run.into_iter().chain(differing).collect()
    }
}

/// The difference of two records because of which their pairs are of two experiments that do not
/// compare. Revisions may differ: the code of one case may have changed and that of the other not. Variables may, too.
pub fn apart(one: &Record, other: &Record) -> Option<&'static str> {
    differences(one, other).map(|(what, _)| what).find(|what| ![REVISION, VARIABLES].contains(what))
}

/// Whether a single run is that of one row only. Rows of several runs have those in common.
pub fn are_of_different_runs(one: &Row, other: &Row) -> bool {
    let several = one.runs.len() > 1 && other.runs.len() > 1;
    !several && one.record.run_id != other.record.run_id
}

/// A median with its interval, which quick mode has not.
fn with_interval(time: &Time) -> Option<Ratio> {
    Some(time.interval?.to_ratio(time.median_ns))
}

fn is_wide(time: &Time) -> bool {
    time.interval.is_some_and(|interval| interval.half_width(time.median_ns) > WIDE)
}

/// The only one of the circumstances that is not of the machine.
const REVISION: &str = "git revision";

/// One that pairs may differ in all the same: a scheduler sets some for each part of a job.
const VARIABLES: &str = "environment variables";

fn circumstances(record: &Record) -> [(&'static str, Cow<'_, str>); 7] {
    let environment = &record.environment;
    [
        ("machine", (&environment.host.hostname).into()),
        ("processor", (&environment.host.cpu_model).into()),
        ("libtorch", (&environment.torch.libtorch).into()),
        ("threads", environment.torch.threads.to_string().into()),
        ("allocator", (&environment.allocator).into()),
        (VARIABLES, environment.set_variables().into()),
        (REVISION, environment.git_revision.as_deref().unwrap_or("none").into()),
    ]
}

/// In which circumstances two records differ, with the words of both.
pub fn differences<'r>(
    one: &'r Record,
    other: &'r Record,
) -> impl Iterator<Item = (&'static str, [Cow<'r, str>; 2])> {
    let pairs = circumstances(one).into_iter().zip(circumstances(other));
    let differing = pairs.filter(|(one, other)| one != other);
    differing.map(|((what, one), (_, other))| (what, [one, other]))
}
