//! What to look at next.

use crate::model::kernels::{KernelResult, PrecisionGain, Recommendation, Rival, recommendations};
use crate::model::{Interval, Report};
use crate::units;
use crate::write::markdown::{and_more, code, list, reason};

/// Cases named for one recommendation.
const MOST: usize = 5;
const ALL: &str = "`summary.json`";

pub fn section(report: &Report, results: &[KernelResult<'_>]) -> String {
    if results.iter().all(|result| result.measured().is_none()) {
        return "No case was measured.".to_owned();
    }
    let all = recommendations(report, results);
    if all.is_empty() {
        return "The records give rise to none.".to_owned();
    }
    all.iter().map(text).collect()
}

fn text(recommendation: &Recommendation<'_>) -> String {
    let (title, advice) = words(recommendation);
    format!("- **{title}:** {advice}\n{}", evidence(recommendation))
}

/// What it is about, and what to do.
const fn words(recommendation: &Recommendation<'_>) -> (&'static str, &'static str) {
    match recommendation {
        Recommendation::Machine(_) => {
            ("Quiet machine", "the machine was not quiet when the runs began")
        }
        Recommendation::Variance(_) => (
            "Variance",
            "the standard deviation of single calls is above 10 % of their mean: quiet the machine, \
             or look for what differs from call to call",
        ),
        Recommendation::Memory(_) => {
            ("Memory", "the peak is above 1 GiB: see what has to be alive at once")
        }
        Recommendation::NarrowerPays(_) => (
            "Precision",
            "a narrower precision is faster, and its output passed its check (measured one after \
             the other, not interleaved)",
        ),
        Recommendation::NarrowerUnproven(_) => (
            "Precision without proof",
            "a narrower precision is faster, but without a `reference` nothing says that its output \
             is right",
        ),
        Recommendation::NarrowerDoesNotPay(_) => {
            ("Precision without gain", "a narrower precision is not faster: keep the wider one")
        }
        Recommendation::Implementation(_) => (
            "Implementation",
            "it is proven and not slower wherever the kernel's own runs: make it \
             the kernel",
        ),
        Recommendation::ImplementationHere(_) => (
            "Implementation here and there",
            "it is faster than the kernel's own, but not everywhere",
        ),
        Recommendation::Nondeterministic(_) => (
            "Determinism",
            "runs on the same input give different outputs (largest standard deviation of an \
             element)",
        ),
        Recommendation::Bandwidth(_) => (
            "Bandwidth",
            "bytes that a step has to move over its time, as a share of what `cargo bench --bench \
             calibration` measured",
        ),
        Recommendation::NoReference(_) => {
            ("Proof", "without a `reference` no output was compared with anything: give one")
        }
        Recommendation::NoCounts(_) => (
            "Rates",
            "without `flops` or `bytes` nothing says how near a kernel is to what the machine can do",
        ),
    }
}

fn evidence(recommendation: &Recommendation<'_>) -> String {
    match recommendation {
        Recommendation::Machine(warnings) => list(warnings.iter().map(|it| reason(it)), MOST, ALL),
        Recommendation::Variance(cases) => list(
            cases.iter().map(|(id, share)| format!("{}: {}", code(id), units::percent(*share))),
            MOST,
            ALL,
        ),
        Recommendation::Memory(cases) => list(
            cases.iter().map(|(id, bytes)| format!("{}: {}", code(id), units::bytes(*bytes))),
            MOST,
            ALL,
        ),
        Recommendation::NarrowerPays(gains)
        | Recommendation::NarrowerUnproven(gains)
        | Recommendation::NarrowerDoesNotPay(gains) => list(gains.iter().map(gain), MOST, ALL),
        Recommendation::Implementation(rivals) | Recommendation::ImplementationHere(rivals) => {
            list(rivals.iter().map(rival), MOST, ALL)
        }
        Recommendation::Nondeterministic(cases) => list(
            cases.iter().map(|(id, std)| format!("{}: {}", code(id), units::error(*std))),
            MOST,
            ALL,
        ),
        Recommendation::Bandwidth(cases) => list(
            cases.iter().map(|(id, share, level)| {
                format!("{}: {} of {level}", code(id), units::percent(*share))
            }),
            MOST,
            ALL,
        ),
        Recommendation::NoReference(names) | Recommendation::NoCounts(names) => {
            list(names.iter().map(|name| code(name)), MOST, "`kernel_manifest.json`")
        }
    }
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
