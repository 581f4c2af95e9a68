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

/// What there is to be looked at, the heaviest first; each list is empty without evidence.
#[derive(Debug, Default)]
pub struct Recommendations<'a> {
    /// Single calls spread widely: id, and standard deviation over mean.
    pub variance: Vec<(&'a str, f64)>,
    /// Peaks above 1 GiB: id, and bytes.
    pub memory: Vec<(&'a str, u64)>,
    /// A narrower precision is faster, and its output passed.
    pub narrower_pays: Vec<PrecisionGain<'a>>,
    /// It is faster, but nothing says that its output is right.
    pub narrower_unproven: Vec<PrecisionGain<'a>>,
    /// It is not faster: same, or slower.
    pub narrower_does_not_pay: Vec<PrecisionGain<'a>>,
    /// Another implementation is proven wherever the kernel's own runs, slower nowhere, and faster
    /// somewhere.
    pub implementation: Vec<Rival<'a>>,
    /// It is faster somewhere, and somewhere it is slower, not measured or not proven.
    pub implementation_here: Vec<Rival<'a>>,
    /// The output differs from run to run: id, and standard deviation.
    pub nondeterministic: Vec<(&'a str, f64)>,
    /// Share of the machine's bandwidth: id, share, and which level of memory.
    pub bandwidth: Vec<(&'a str, f64, String)>,
    /// Kernels without a reference.
    pub no_reference: Vec<&'a str>,
    /// Kernels that say neither FLOPs nor bytes.
    pub no_counts: Vec<&'a str>,
}

impl<'a> Recommendations<'a> {
    /// All that the results and the calibrations beside them give rise to.
    pub fn of(report: &Report, results: &[KernelResult<'a>]) -> Self {
        let (everywhere, here) = rivals(results).into_iter().partition(|it| it.not.is_empty());
        let mut all = Self {
            variance: most(results.iter().filter_map(unsteady)),
            memory: largest(results),
            implementation: everywhere,
            implementation_here: here,
            nondeterministic: most(results.iter().filter_map(wavering)),
            bandwidth: shares(report, results),
            no_reference: kernels(results, |it| !it.has_reference()),
            no_counts: kernels(results, without_counts),
            ..Self::default()
        };
        all.add_precisions(results);
        all
    }

    fn add_precisions(&mut self, results: &[KernelResult<'a>]) {
        for gain in precision_gains(results) {
            match gain.verdict() {
                Verdict::Faster if gain.proven => self.narrower_pays.push(gain),
                Verdict::Faster => self.narrower_unproven.push(gain),
                Verdict::Same | Verdict::Slower => self.narrower_does_not_pay.push(gain),
                Verdict::Inconclusive => {}
            }
        }
        let by_gain =
            |a: &PrecisionGain<'_>, b: &PrecisionGain<'_>| a.gain.ratio.total_cmp(&b.gain.ratio);
        self.narrower_pays.sort_by(|a, b| by_gain(b, a));
        self.narrower_unproven.sort_by(|a, b| by_gain(b, a));
        self.narrower_does_not_pay.sort_by(by_gain);
    }
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
