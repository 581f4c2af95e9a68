//! What stands out.

use std::collections::BTreeSet;

use super::leaderboard::precision;
use crate::model::kernels::{
    Contest, Extreme, KernelResult, contests, first_calls, most, slow_calls,
};
use crate::units;
use crate::write::markdown::{and_more, code, list, plain, reason};

/// Items of one finding.
const MOST: usize = 10;

pub fn section(results: &[KernelResult<'_>]) -> String {
    let mut out = String::new();
    let mut say = |what: &str, text: Option<String>| {
        if let Some(text) = text {
            out.push_str(&format!("- **{what}:** {text}\n"));
        }
    };
    say("Fastest", fastest(&contests(results)));
    for (what, value, text) in EXTREMES {
        let named = |Extreme { result, others }| {
            let value = text(result, value(result)?);
            Some(format!("{}{}: {value}", code(result.full_id), and_more(others)))
        };
        say(what, most(results, value).and_then(named));
    }
    let measured = results.iter().filter(|result| result.measured().is_some());
    let backends: BTreeSet<&str> = measured.map(|result| result.backend).collect();
    let backends: Vec<&str> = backends.into_iter().collect();
    say("Backends that cases ran on", (!backends.is_empty()).then(|| backends.join(", ")));
    say("First call far above the others", anomalies(&first_calls(results)));
    say("Slowest calls far above the median", anomalies(&slow_calls(results)));
    say("Failed", failed(&results.iter().filter(|result| result.is_failure()).collect::<Vec<_>>()));
    if out.is_empty() { "No case was measured.".to_owned() } else { out }
}

/// A value of a case, and how it is said.
type Value = fn(&KernelResult<'_>) -> Option<f64>;
type Text = fn(&KernelResult<'_>, f64) -> String;

/// The values whose largest one is said.
const EXTREMES: [(&str, Value, Text); 5] = [
    ("Largest speed-up", faster, |it, ratio| {
        let interval = it.speedup().map(|speedup| speedup.interval);
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
    ("Most energy per step", joules, |_, joules| format!("{} J", units::significant(joules, 3))),
];

/// A speed-up whose whole interval is above 1.
fn faster(result: &KernelResult<'_>) -> Option<f64> {
    let speedup = result.speedup().filter(|speedup| speedup.interval.low > 1.0)?;
    Some(speedup.ratio)
}

fn joules(result: &KernelResult<'_>) -> Option<f64> {
    Some(result.measured()?.measures.energy.as_ref()?.joules)
}

/// The first of each problem that several cases have; those that are not surely so in one line.
fn fastest(contests: &[Contest<'_, '_>]) -> Option<String> {
    let with_rivals = |contest: &&Contest<'_, '_>| {
        contest.ranked.len() > 1 && contest.ranked[0].latency().is_some()
    };
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
    let first = contest.ranked[0];
    let p50 = first.latency().map(|latency| units::time(latency.p50_ns)).unwrap_or_default();
    format!(
        "{}: `{}` on {} in {}, p50 {p50}, of {}",
        problem(contest),
        first.implementation,
        first.backend,
        precision(first),
        units::count(contest.ranked.len(), "case"),
    )
}

fn problem(contest: &Contest<'_, '_>) -> String {
    let fields = plain(&units::fields(&contest.problem_size));
    let fields = if fields.is_empty() { fields } else { format!(" ({fields})") };
    format!("{}{fields}", contest.kernel)
}

/// Cases and factors over the median of their calls.
fn anomalies(cases: &[(&KernelResult<'_>, f64)]) -> Option<String> {
    let line = |(result, factor): &(&KernelResult<'_>, f64)| {
        format!("{}: {}×", code(result.full_id), units::significant(*factor, 3))
    };
    let text = list(cases.iter().map(line), MOST, "`kernels/`");
    (!cases.is_empty()).then(|| format!("over the median of the calls\n{}", text.trim_end()))
}

fn failed(failed: &[&KernelResult<'_>]) -> Option<String> {
    let line = |result: &&KernelResult<'_>| {
        let why = reason(result.reason.as_deref().unwrap_or_default());
        format!("{}: {why}", code(result.full_id))
    };
    let text = list(failed.iter().map(line), MOST, "`summary.json`");
    let cases = units::count(failed.len(), "case");
    (!failed.is_empty()).then(|| format!("{cases}\n{}", text.trim_end()))
}
