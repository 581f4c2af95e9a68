//! What stands out.

use super::leaderboard::precision;
use crate::model::kernels::{Contest, Extreme, KernelResult, contests, findings};
use crate::units;
use crate::write::markdown::{and_more, code, list, plain, reason};

/// Items of one finding.
const MOST: usize = 10;

pub fn section(results: &[KernelResult<'_>]) -> String {
    let found = findings(results);
    let mut out = String::new();
    let mut say = |what: &str, text: Option<String>| {
        if let Some(text) = text {
            out.push_str(&format!("- **{what}:** {text}\n"));
        }
    };
    say("Fastest", fastest(&contests(results)));
    say(
        "Largest speed-up",
        found.speedup.and_then(|Extreme { result, others }| {
            let speedup = result.speedup()?;
            let ratio = units::ratio(speedup.ratio, Some(speedup.interval));
            Some(format!("{}: {ratio} over `kernel`", named(result, others)))
        }),
    );
    say(
        "Most operations per second",
        found.flops.and_then(|Extreme { result, others }| {
            let rate = units::significant(result.entry?.row.gflop_per_s()?, 4);
            Some(format!("{}: {rate} GFLOP/s", named(result, others)))
        }),
    );
    say(
        "Most bytes per second",
        found.bytes.and_then(|Extreme { result, others }| {
            let rate = units::significant(result.entry?.row.gb_per_s()?, 4);
            Some(format!("{}: {rate} GB/s", named(result, others)))
        }),
    );
    say(
        "Highest peak of memory",
        found.memory.and_then(|Extreme { result, others }| {
            Some(format!("{}: {}", named(result, others), units::bytes(result.peak_bytes()?)))
        }),
    );
    say(
        "Most energy per step",
        found.energy.and_then(|Extreme { result, others }| {
            let joules = result.measured()?.measures.energy.as_ref()?.joules;
            Some(format!("{}: {} J", named(result, others), units::significant(joules, 3)))
        }),
    );
    let backends: Vec<&str> = found.backends.iter().copied().collect();
    say("Backends that cases ran on", (!backends.is_empty()).then(|| backends.join(", ")));
    say("First call far above the others", anomalies(&found.first_calls));
    say("Slowest calls far above the median", anomalies(&found.slow_calls));
    say("Failed", failed(&found.failed));
    if out.is_empty() { "No case was measured.".to_owned() } else { out }
}

/// The case, and how many others have the same value.
fn named(result: &KernelResult<'_>, others: usize) -> String {
    format!("{}{}", code(result.full_id), and_more(others))
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
