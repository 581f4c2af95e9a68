//! The advice of the summary.

use std::collections::BTreeSet;

use super::leaderboard::precision;
use crate::model::Interval;
use crate::order::Sorted as _;
use crate::read::Report;
use crate::render::markdown::{and_more, code, list, plain, reason};
use crate::render::units;
use crate::views::kernels::{
    Contest, KernelResult, PrecisionGain, Rival, Valued, contests, descending, high_peak, most,
    narrower, nondeterministic, rivals, shares_of_bandwidth, slow_call, slow_first_call, unsteady,
    without_counts, without_reference,
};

/// Items of one finding.
const MOST: usize = 10;

pub fn findings(results: &[KernelResult<'_>]) -> String {
    let mut out = String::new();
    let mut say = |what: &str, text: Option<String>| {
        if let Some(text) = text {
            out.push_str(&format!("- **{what}:** {text}\n"));
        }
    };
    say("Fastest", fastest(&contests(results)));
    for (what, value, text) in EXTREMES {
        let named = |((result, value), others): (Valued<'_, '_>, usize)| {
            format!("{}{}: {}", code(result.full_id), and_more(others), text(result, value))
        };
        say(what, most(results, value).map(named));
    }
    let measured = results.iter().filter(|result| result.measured().is_some());
    let backends: BTreeSet<&str> = measured.map(|result| result.backend).sorted_set();
    let backends: Vec<&str> = backends.into_iter().collect();
    say("Backends that cases ran on", (!backends.is_empty()).then(|| backends.join(", ")));
    say("First call far above the others", anomalies(&descending(results, slow_first_call)));
    say("Slowest calls far above the median", anomalies(&descending(results, slow_call)));
    say(
        "Failed",
        failed(&results.iter().filter(|result| result.point.is_failure()).collect::<Vec<_>>()),
    );
    if out.is_empty() { "No case was measured.".to_owned() } else { out }
}

type Value = fn(&KernelResult<'_>) -> Option<f64>;
type Text = fn(&KernelResult<'_>, f64) -> String;

/// The values whose largest one is said.
const EXTREMES: [(&str, Value, Text); 5] = [
    ("Largest speed-up", faster, |it, ratio| {
        let interval = it.entry.and_then(|entry| Some(entry.speedup()?.interval));
        format!("{} over `kernel`", units::ratio(ratio, interval))
    }),
    (
        "Most operations per second",
        |it| it.entry?.row.gflop_per_s(),
        |_, rate| format!("{} GFLOP/s", units::significant(rate, 4)),
    ),
    (
        "Most bytes per second",
        |it| it.entry?.row.gb_per_s(),
        |_, rate| format!("{} GB/s", units::significant(rate, 4)),
    ),
    (
        "Highest peak of memory",
        |it| it.peak_bytes().map(|bytes| bytes as f64),
        |_, bytes| units::bytes(bytes as u64),
    ),
    (
        "Most energy per step",
        |it| it.point.joules,
        |_, joules| format!("{} J", units::significant(joules, 3)),
    ),
];

/// A speed-up whose whole interval is above 1.
fn faster(result: &KernelResult<'_>) -> Option<f64> {
    let speedup = result.entry?.speedup().filter(|speedup| speedup.interval.low > 1.0)?;
    Some(speedup.ratio)
}

/// The first of each problem that several cases have; those that are not surely so in one line.
fn fastest(contests: &[Contest<'_, '_>]) -> Option<String> {
    let with_rivals =
        |contest: &&Contest<'_, '_>| contest.0.len() > 1 && contest.0[0].latency().is_some();
    let (sure, near): (Vec<_>, Vec<_>) =
        contests.iter().filter(with_rivals).partition(|contest| contest.is_decided());
    let mut out = list(sure.iter().map(|contest| winner(contest)), MOST, "`kernels/`");
    if !near.is_empty() {
        let names: Vec<String> = near.iter().take(MOST).map(|contest| problem(contest)).collect();
        let more = and_more(near.len() - names.len());
        out.push_str(&format!("  - too near to say: {}{more}\n", names.join("; ")));
    }
    (!out.is_empty()).then(|| format!("per problem\n{}", out.trim_end()))
}

fn winner(contest: &Contest<'_, '_>) -> String {
    let first = contest.0[0];
    let p50 = first.latency().map(|latency| units::time(latency.p50_ns)).unwrap_or_default();
    format!(
        "{}: `{}` on {} in {}, p50 {p50}, of {}",
        problem(contest),
        first.implementation,
        first.backend,
        precision(first),
        units::count(contest.0.len(), "case"),
    )
}

fn problem(contest: &Contest<'_, '_>) -> String {
    let first = contest.0[0];
    let fields = first.problem_size().map(units::fields).unwrap_or_default();
    let fields = plain(&fields);
    let fields = if fields.is_empty() { fields } else { format!(" ({fields})") };
    format!("{}{fields}", first.kernel)
}

fn anomalies(cases: &[Valued<'_, '_>]) -> Option<String> {
    let factors = valued(cases, |factor| format!("{}×", units::significant(factor, 3)));
    let text = list(factors.into_iter(), MOST, "`kernels/`");
    (!cases.is_empty()).then(|| format!("over the median of the calls\n{}", text.trim_end()))
}

fn failed(failed: &[&KernelResult<'_>]) -> Option<String> {
    let line = |result: &&KernelResult<'_>| {
        let why = reason(result.point.reason.as_deref().unwrap_or_default());
        format!("{}: {why}", code(result.full_id))
    };
    let text = list(failed.iter().map(line), MOST, "`summary.json`");
    let cases = units::count(failed.len(), "case");
    (!failed.is_empty()).then(|| format!("{cases}\n{}", text.trim_end()))
}

/// Cases named for one recommendation.
const NAMED: usize = 5;
const ALL: &str = "`summary.json`";
const KERNELS: &str = "`kernel_manifest.json`";

pub fn recommendations(report: &Report, results: &[KernelResult<'_>]) -> String {
    if results.iter().all(|result| result.measured().is_none()) {
        return "No case was measured.".to_owned();
    }
    let [pays, unproven, useless] = narrower(results);
    let (everywhere, here): (Vec<_>, Vec<_>) =
        rivals(results).into_iter().partition(|it| it.not.is_empty());
    let mut out = String::new();
    let mut say = |title: &str, advice: &str, evidence: Vec<String>, all: &str| {
        if !evidence.is_empty() {
            let evidence = list(evidence.into_iter(), NAMED, all);
            out.push_str(&format!("- **{title}:** {advice}\n{evidence}"));
        }
    };
    say(
        "Quiet machine",
        "the machine was not quiet when the runs began",
        report.run_warnings.iter().map(|it| reason(it)).collect(),
        ALL,
    );
    say(
        "Variance",
        "the standard deviation of single calls is above 10 % of their mean: quiet the machine, or \
         look for what differs from call to call",
        valued(&descending(results, unsteady), units::percent),
        ALL,
    );
    say(
        "Memory",
        "the peak is above 1 GiB: see what has to be alive at once",
        valued(&descending(results, high_peak), |bytes| units::bytes(bytes as u64)),
        ALL,
    );
    say(
        "Precision",
        "a narrower precision is faster, and its output passed its check (measured one after the \
         other, not interleaved)",
        pays.iter().map(gain).collect(),
        ALL,
    );
    say(
        "Precision without proof",
        "a narrower precision is faster, but without a `reference` nothing says that its output is \
         right",
        unproven.iter().map(gain).collect(),
        ALL,
    );
    say(
        "Precision without gain",
        "a narrower precision is not faster: keep the wider one",
        useless.iter().map(gain).collect(),
        ALL,
    );
    say(
        "Implementation",
        "it is proven and not slower wherever the kernel's own runs: make it the kernel",
        everywhere.iter().map(rival).collect(),
        ALL,
    );
    say(
        "Implementation faster in some cases",
        "it is faster than the kernel's own, but not everywhere",
        here.iter().map(rival).collect(),
        ALL,
    );
    say(
        "Determinism",
        "runs on the same input give different outputs (largest standard deviation of an element)",
        valued(&descending(results, nondeterministic), units::error),
        ALL,
    );
    let share = |(id, share, level): &(&str, f64, String)| {
        format!("{}: {} of {level}", code(id), units::percent(*share))
    };
    say(
        "Bandwidth",
        "bytes that a step has to move over its time, as a share of what `cargo bench --bench \
         calibration` measured",
        shares_of_bandwidth(report, results).iter().map(share).collect(),
        ALL,
    );
    say(
        "Proof",
        "without a `reference` no output was compared with anything: give one",
        without_reference(results).iter().map(|name| code(name)).collect(),
        KERNELS,
    );
    say(
        "Rates",
        "without `flops` or `bytes` nothing says how near a kernel is to what the machine can do",
        without_counts(results).iter().map(|name| code(name)).collect(),
        KERNELS,
    );
    if out.is_empty() { "The records suggest none.".to_owned() } else { out }
}

fn valued(cases: &[Valued<'_, '_>], text: impl Fn(f64) -> String) -> Vec<String> {
    cases.iter().map(|(it, value)| format!("{}: {}", code(it.full_id), text(*value))).collect()
}

/// The best of where it is faster, and the first of where it is not.
fn rival(rival: &Rival<'_>) -> String {
    let (id, speedup) = &rival.faster[0];
    let ratio = units::ratio(speedup.ratio, Some(speedup.interval));
    let mut line = format!(
        "{}: faster here: {} {ratio}{}",
        code(&format!("{}/{}", rival.kernel, rival.implementation)),
        code(&place(id)),
        and_more(rival.faster.len() - 1),
    );
    if let Some(first) = rival.not.first() {
        let more = and_more(rival.not.len() - 1);
        line.push_str(&format!("; slower or missing: {}{more}", code(&place(first))));
    }
    line
}

/// Backend and parameter of an id: `cpu/f32-4096`.
fn place(full_id: &str) -> String {
    let parts: Vec<&str> = full_id.split('/').collect();
    match parts[..] {
        [_, _, _, backend, _, parameter] => format!("{backend}/{parameter}"),
        _ => full_id.to_owned(),
    }
}

fn gain(gain: &PrecisionGain<'_>) -> String {
    let interval = Interval { low: gain.gain.low, high: gain.gain.high };
    let ratio = units::ratio(gain.gain.ratio, Some(interval));
    let (narrow, wide) = (gain.narrow.precision(), gain.wide.precision());
    format!("{}: {narrow} is {ratio} as fast as {wide}", code(gain.full_id))
}
