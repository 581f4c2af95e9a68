//! The default rule for what is counted or computed, not timed: memory and accuracy. Runs of one
//! revision agree on it, and where they do not, only differences count that all of them show.

use plan::Memory;
use statistics::median;

use super::finding::{Finding, Measure, Verdict};
use super::pairing::{Pairing, values};
use crate::order::Order as _;
use crate::render::units;

/// Peak memory; none where neither side counted it.
pub fn memory(pairing: &Pairing<'_>) -> Option<Finding> {
    let [a, b] =
        pairing.sides().map(|side| values(side, |it| Some(it.memory?.peak_bytes() as f64)));
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return None,
        (false, false) => {}
        (in_a, _) => {
            let reason = format!("it was not counted in {}", if in_a { "A" } else { "B" });
            return Some(Finding::new(Measure::Memory, Verdict::NotCompared, reason));
        }
    }
    let (before, after) = (median(&a), median(&b));
    let limit = 1.0 + pairing.limits.memory;
    let verdict = verdict(exceeds(after, before * limit), exceeds(before, after * limit));
    let bytes = |value: f64| units::bytes(value.round() as u64);
    let reason = format!("{} to {}{}", bytes(before), bytes(after), part(pairing));
    let finding = Finding::new(Measure::Memory, verdict, reason).with_values(before, after);
    let ratio = (before > 0.0).then(|| after / before);
    Some(agreed(Finding { ratio, ..finding }, &a, &b))
}

/// Whether a value is above a limit that rounding may have left a little below it: what differs by just
/// the threshold is not beyond it.
pub(super) fn exceeds(value: f64, limit: f64) -> bool {
    const ROUNDING: f64 = 1e-12;
    value > limit * (1.0 + ROUNDING)
}

const fn verdict(worse: bool, better: bool) -> Verdict {
    match (worse, better) {
        (true, _) => Verdict::Regressed,
        (false, true) => Verdict::Improved,
        (false, false) => Verdict::Equivalent,
    }
}

/// The part of the memory that changed most, of one run each.
fn part(pairing: &Pairing<'_>) -> String {
    let memories = pairing.sides().map(|side| side.iter().find_map(|point| point.memory));
    let [Some(a), Some(b)] = memories else { return String::new() };
    let held = |memory: Memory| memory.inputs_bytes.saturating_add(memory.outputs_bytes);
    let parts = [
        ("weights", a.weights_bytes, b.weights_bytes),
        ("step", a.step.peak_bytes, b.step.peak_bytes),
        ("inputs and outputs", held(a), held(b)),
    ];
    let most = parts.into_iter().max_by_key(|(_, a, b)| a.abs_diff(*b));
    match most.filter(|(_, a, b)| a != b) {
        Some((name, a, b)) => format!(" ({name} {} to {})", units::bytes(a), units::bytes(b)),
        None => String::new(),
    }
}

/// Errors against the reference, of A and of B, with their name. The relative error is the RMSE over
/// the reference's own root mean square, so that a drift of one is a drift of the other and needs no
/// unit; where the reference is zero all over it is no number, and the RMSE itself is compared.
pub(super) fn errors(pairing: &Pairing<'_>) -> (&'static str, [Vec<f64>; 2]) {
    let relative = pairing.sides().map(|side| values(side, |it| it.relative_error));
    let rmse = pairing.sides().map(|side| values(side, |it| it.rmse));
    let no_scale = relative.iter().all(|side| side.iter().all(|error| !error.is_finite()));
    let has_rmse = rmse.iter().all(|side| !side.is_empty());
    let measured = relative.iter().all(|side| !side.is_empty());
    if measured && no_scale && has_rmse { ("rmse", rmse) } else { ("relative_error", relative) }
}

/// Error against the reference; none where A has none.
pub fn accuracy(pairing: &Pairing<'_>) -> Option<Finding> {
    let (name, [a, b]) = errors(pairing);
    // Without one in A it is a proof that was not there, which takes nothing away.
    if a.is_empty() {
        return None;
    }
    if b.is_empty() {
        let reason = "its output is compared with no reference any more";
        return Some(Finding::new(Measure::Accuracy, Verdict::NotCompared, reason));
    }
    // Infinity and NaN are worse than any number, and no better than each other.
    let rank = |error: f64| if error.is_finite() { error } else { f64::INFINITY };
    let ranks = |side: &[f64]| side.iter().copied().map(rank).collect::<Vec<f64>>();
    let (before, after) = (middle(&a, rank), middle(&b, rank));
    let (a, b) = (ranks(&a), ranks(&b));
    let threshold = pairing.limits.accuracy;
    let verdict = verdict(
        exceeds(rank(after), rank(before) + threshold),
        exceeds(rank(before), rank(after) + threshold),
    );
    let reason = format!("{name} {} to {}", units::error(before), units::error(after));
    let finding = Finding::new(Measure::Accuracy, verdict, reason).with_values(before, after);
    Some(agreed(Finding { name, ..finding }, &a, &b))
}

/// The median without a mean of two, which infinities have none of.
fn middle(values: &[f64], rank: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.order_by(|a, b| rank(*a).total_cmp(&rank(*b)));
    sorted[sorted.len() / 2]
}

/// A difference that not all runs show is none that one can be sure of.
fn agreed(finding: Finding, a: &[f64], b: &[f64]) -> Finding {
    let least = |side: &[f64]| side.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |side: &[f64]| side.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let overlap = least(a) <= most(b) && least(b) <= most(a);
    if overlap && finding.verdict != Verdict::Equivalent {
        let reason = format!("{}, but runs of one side disagree as much", finding.reason);
        return Finding { verdict: Verdict::Inconclusive, reason, ..finding };
    }
    finding
}
