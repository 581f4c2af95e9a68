//! What to look at next: each point from evidence, none without.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use statistics::Verdict;

use super::precision::{PrecisionGain, precision_gains};
use super::result::KernelResult;
use super::rival::{Rival, rivals};
use crate::model::{Bandwidths, Report};

/// Standard deviation of the single calls over their mean, above which a case is called unsteady.
const UNSTEADY: f64 = 0.10;
/// Peak above which memory is called high: 1 GiB.
const HIGH_BYTES: u64 = 1 << 30;

/// A recommendation with the cases that give rise to it.
#[derive(Debug, Clone, PartialEq)]
pub enum Recommendation<'a> {
    /// What the machine said of itself before the runs.
    Machine(Vec<String>),
    /// Single calls spread widely: id, and standard deviation over mean.
    Variance(Vec<(&'a str, f64)>),
    /// Peaks above 1 GiB: id, and bytes.
    Memory(Vec<(&'a str, u64)>),
    /// A narrower precision is faster, and its output passed.
    NarrowerPays(Vec<PrecisionGain<'a>>),
    /// It is faster, but nothing says that its output is right.
    NarrowerUnproven(Vec<PrecisionGain<'a>>),
    /// It is not faster: same, or slower.
    NarrowerDoesNotPay(Vec<PrecisionGain<'a>>),
    /// Another implementation is proven wherever the kernel's own runs, slower nowhere, and faster
    /// somewhere.
    Implementation(Vec<Rival<'a>>),
    /// It is faster somewhere, and somewhere it is slower, not measured or not proven.
    ImplementationHere(Vec<Rival<'a>>),
    /// The output differs from run to run: id, and standard deviation.
    Nondeterministic(Vec<(&'a str, f64)>),
    /// Share of the machine's bandwidth: id, share, and which level of memory.
    Bandwidth(Vec<(&'a str, f64, String)>),
    /// Kernels without a reference.
    NoReference(Vec<&'a str>),
    /// Kernels that say neither FLOPs nor bytes.
    NoCounts(Vec<&'a str>),
}

/// All that there are; the cases of each by their weight, the heaviest first.
pub fn recommendations<'a>(
    report: &Report,
    results: &[KernelResult<'a>],
) -> Vec<Recommendation<'a>> {
    let (proven, unproven, useless) = precisions(results);
    let (everywhere, here) = rivals(results).into_iter().partition(|rival| rival.not.is_empty());
    let all = [
        (!report.run_warnings.is_empty())
            .then(|| Recommendation::Machine(report.run_warnings.clone())),
        some(most(results.iter().filter_map(unsteady))).map(Recommendation::Variance),
        some(largest(results)).map(Recommendation::Memory),
        some(proven).map(Recommendation::NarrowerPays),
        some(unproven).map(Recommendation::NarrowerUnproven),
        some(useless).map(Recommendation::NarrowerDoesNotPay),
        some(everywhere).map(Recommendation::Implementation),
        some(here).map(Recommendation::ImplementationHere),
        some(most(results.iter().filter_map(wavering))).map(Recommendation::Nondeterministic),
        some(shares(report, results)).map(Recommendation::Bandwidth),
        some(kernels(results, |it| !it.has_reference())).map(Recommendation::NoReference),
        some(kernels(results, without_counts)).map(Recommendation::NoCounts),
    ];
    all.into_iter().flatten().collect()
}

fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

/// The largest first.
fn most<'a>(cases: impl Iterator<Item = (&'a str, f64)>) -> Vec<(&'a str, f64)> {
    let mut cases: Vec<_> = cases.collect();
    cases.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    cases
}

fn unsteady<'a>(result: &KernelResult<'a>) -> Option<(&'a str, f64)> {
    let share = result.latency_std_ns()? / result.latency()?.mean_ns;
    (share > UNSTEADY).then_some((result.full_id, share))
}

fn largest<'a>(results: &[KernelResult<'a>]) -> Vec<(&'a str, u64)> {
    let peaks = results.iter().filter_map(|result| Some((result.full_id, result.peak_bytes()?)));
    let mut high: Vec<_> = peaks.filter(|(_, bytes)| *bytes > HIGH_BYTES).collect();
    high.sort_by_key(|(_, bytes)| Reverse(*bytes));
    high
}

type Gains<'a> = Vec<PrecisionGain<'a>>;

/// The precisions that pay and are proven, those that pay and are not, and those that do not.
fn precisions<'a>(results: &[KernelResult<'a>]) -> (Gains<'a>, Gains<'a>, Gains<'a>) {
    let (mut proven, mut unproven, mut useless) = (Vec::new(), Vec::new(), Vec::new());
    for gain in precision_gains(results) {
        match gain.verdict() {
            Verdict::Faster if gain.proven => proven.push(gain),
            Verdict::Faster => unproven.push(gain),
            Verdict::Same | Verdict::Slower => useless.push(gain),
            Verdict::Inconclusive => {}
        }
    }
    let by_gain =
        |a: &PrecisionGain<'_>, b: &PrecisionGain<'_>| a.gain.ratio.total_cmp(&b.gain.ratio);
    proven.sort_by(|a, b| by_gain(b, a));
    unproven.sort_by(|a, b| by_gain(b, a));
    useless.sort_by(by_gain);
    (proven, unproven, useless)
}

fn wavering<'a>(result: &KernelResult<'a>) -> Option<(&'a str, f64)> {
    let std = result.determinism_std()?.0;
    // A NaN is no zero either.
    (std != 0.0).then_some((result.full_id, std))
}

/// The bytes that a step has to move over its time, as a share of what calibration found; the lowest
/// first.
fn shares<'a>(report: &Report, results: &[KernelResult<'a>]) -> Vec<(&'a str, f64, String)> {
    let bandwidths = Bandwidths::of(report.rows());
    let share = |result: &KernelResult<'a>| {
        let row = result.entry?.row;
        let ceiling = bandwidths.over(row)?;
        Some((result.full_id, row.gb_per_s()? / ceiling.gb_per_s, ceiling.level))
    };
    let mut shares: Vec<_> = results.iter().filter_map(share).collect();
    shares.sort_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
    shares
}

/// Names of the kernels of which every case that was measured is so.
fn kernels<'a>(
    results: &[KernelResult<'a>],
    is: impl Fn(&KernelResult<'a>) -> bool,
) -> Vec<&'a str> {
    let mut all = BTreeMap::new();
    for result in results.iter().filter(|result| result.measured().is_some()) {
        *all.entry(result.kernel).or_insert(true) &= is(result);
    }
    all.into_iter().filter(|(_, all)| *all).map(|(name, _)| name).collect()
}

fn without_counts(result: &KernelResult<'_>) -> bool {
    let facts = result.record().and_then(|record| record.kernel.as_ref());
    facts.is_none_or(|facts| facts.flops.is_none() && facts.bytes.is_none())
}
