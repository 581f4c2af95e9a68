//! What to look at next.

use crate::model::kernels::{
    KernelResult, PrecisionGain, Rival, high_peaks, narrower, nondeterministic, rivals,
    shares_of_bandwidth, unsteady, without_counts, without_reference,
};
use crate::model::{Interval, Report};
use crate::units;
use crate::write::markdown::{and_more, code, list, reason};

/// Cases named for one recommendation.
const MOST: usize = 5;
const ALL: &str = "`summary.json`";
const KERNELS: &str = "`kernel_manifest.json`";

pub fn section(report: &Report, results: &[KernelResult<'_>]) -> String {
    if results.iter().all(|result| result.measured().is_none()) {
        return "No case was measured.".to_owned();
    }
    let [pays, unproven, useless] = narrower(results);
    let (everywhere, here): (Vec<_>, Vec<_>) =
        rivals(results).into_iter().partition(|it| it.not.is_empty());
    let mut out = String::new();
    let mut say = |title: &str, advice: &str, evidence: Vec<String>, all: &str| {
        if !evidence.is_empty() {
            let evidence = list(evidence.into_iter(), MOST, all);
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
        cases(&unsteady(results), |share| units::percent(*share)),
        ALL,
    );
    say(
        "Memory",
        "the peak is above 1 GiB: see what has to be alive at once",
        cases(&high_peaks(results), |bytes| units::bytes(*bytes)),
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
        "Implementation here and there",
        "it is faster than the kernel's own, but not everywhere",
        here.iter().map(rival).collect(),
        ALL,
    );
    say(
        "Determinism",
        "runs on the same input give different outputs (largest standard deviation of an element)",
        cases(&nondeterministic(results), |std| units::error(*std)),
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
    if out.is_empty() { "The records give rise to none.".to_owned() } else { out }
}

fn cases<T>(cases: &[(&str, T)], text: impl Fn(&T) -> String) -> Vec<String> {
    cases.iter().map(|(id, value)| format!("{}: {}", code(id), text(value))).collect()
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
        line.push_str(&format!("; slower or not there: {}{more}", code(&place(first))));
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
