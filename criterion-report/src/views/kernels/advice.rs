//! Advice on what stands out and what to try next, each point with its evidence.

use std::collections::BTreeMap;

use plan::Dtype;
use statistics::{Ratio, Verdict, verdict};

use super::KernelResult;
use crate::model::{Speedup, gather};
use crate::order::Order as _;
use crate::read::Report;
use crate::views::Bandwidths;

/// Standard deviation of the single calls over their mean, above which a case is called unsteady.
const UNSTEADY: f64 = 0.10;
const HIGH_BYTES: u64 = 1 << 30;
/// Times the median from which on a call is far above it.
const FAR: f64 = 5.0;

pub type Valued<'r, 'a> = (&'r KernelResult<'a>, f64);

/// The cases that have the value, the largest first.
pub fn descending<'r, 'a>(
    results: &'r [KernelResult<'a>],
    value: impl Fn(&KernelResult<'a>) -> Option<f64>,
) -> Vec<Valued<'r, 'a>> {
    let with = results.iter().filter_map(|result| Some((result, value(result)?)));
    let mut cases: Vec<_> = with.collect();
    cases.order_by(|(_, a), (_, b)| b.total_cmp(a));
    cases
}

/// The first case with the most of a value, and how many others have as much; none where all have.
pub fn most<'r, 'a>(
    results: &'r [KernelResult<'a>],
    value: impl Fn(&KernelResult<'a>) -> Option<f64>,
) -> Option<(Valued<'r, 'a>, usize)> {
    let cases = descending(results, value);
    let first = *cases.first()?;
    let equals = cases.iter().filter(|(_, value)| *value == first.1).count();
    // Among equals there is no largest.
    (cases.len() == 1 || equals < cases.len()).then_some((first, equals - 1))
}

/// Standard deviation of single calls over their mean, where they spread widely.
pub fn unsteady(result: &KernelResult<'_>) -> Option<f64> {
    let share = result.latency_std_ns()? / result.latency()?.mean_ns;
    (share > UNSTEADY).then_some(share)
}

/// Standard deviation of an output that differs from run to run.
pub fn nondeterministic(result: &KernelResult<'_>) -> Option<f64> {
    // A NaN is no zero either.
    result.determinism_std().map(|std| std.0).filter(|std| *std != 0.0)
}

pub fn high_peak(result: &KernelResult<'_>) -> Option<f64> {
    result.peak_bytes().filter(|it| *it > HIGH_BYTES).map(|it| it as f64)
}

/// The first call after the warm-up over the median, where that is far above it.
pub fn slow_first_call(result: &KernelResult<'_>) -> Option<f64> {
    let first = *result.measured()?.measures.calls_ns.first()?;
    Some(first as f64 / result.latency()?.p50_ns).filter(|factor| *factor >= FAR)
}

/// The rank of the 99th percentile or, where the calls are too few, the slowest unless it is the first.
pub fn slow_call(result: &KernelResult<'_>) -> Option<f64> {
    let latency = result.latency()?;
    let first = result.measured()?.measures.calls_ns.first().map(|&ns| ns as f64);
    let slowest = Some(latency.max_ns).filter(|max| first != Some(*max));
    let factor = latency.p99_ns.or(slowest)? / latency.p50_ns;
    (factor >= FAR).then_some(factor)
}

/// The narrower precisions that are faster and proven, faster and unproven, and not faster: same, or
/// slower.
pub fn narrower<'a>(results: &[KernelResult<'a>]) -> [Vec<PrecisionGain<'a>>; 3] {
    let [mut proven, mut unproven, mut useless] = [const { Vec::new() }; 3];
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
    proven.order_by(|a, b| by_gain(b, a));
    unproven.order_by(|a, b| by_gain(b, a));
    useless.order_by(by_gain);
    [proven, unproven, useless]
}

/// The bytes that a step has to move over its time, as a share of what calibration found, the lowest
/// first: id, share, and which level of memory.
pub fn shares_of_bandwidth<'a>(
    report: &Report,
    results: &[KernelResult<'a>],
) -> Vec<(&'a str, f64, String)> {
    let bandwidths = Bandwidths::from_rows(report.with_calibrations());
    let share = |result: &KernelResult<'a>| {
        let row = result.entry?.row;
        let ceiling = bandwidths.over(row)?;
        Some((result.full_id, row.gb_per_s()? / ceiling.gb_per_s, ceiling.level))
    };
    let mut shares: Vec<_> = results.iter().filter_map(share).collect();
    shares.order_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
    shares
}

pub fn without_reference<'a>(results: &[KernelResult<'a>]) -> Vec<&'a str> {
    kernels(results, |result| !result.has_reference())
}

/// Kernels that say neither FLOPs nor bytes.
pub fn without_counts<'a>(results: &[KernelResult<'a>]) -> Vec<&'a str> {
    kernels(results, |result| {
        let facts = result.record().and_then(|record| record.kernel.as_ref());
        facts.is_none_or(|facts| facts.flops.is_none() && facts.bytes.is_none())
    })
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

/// The time of a case in one precision against the same in the next wider one.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionGain<'a> {
    /// Criterion's id of the narrower one.
    pub full_id: &'a str,
    pub narrow: Dtype,
    pub wide: Dtype,
    /// The wider one's time over the narrower one's, from two moments.
    pub gain: Ratio,
    /// Whether the narrower one's output was compared with a reference, and passed.
    pub proven: bool,
}

impl PrecisionGain<'_> {
    pub fn verdict(&self) -> Verdict {
        verdict(&self.gain)
    }
}

/// Every case with a time whose next wider sibling has one, too: same implementation, problem,
/// machine, config and settings.
pub fn precision_gains<'a>(results: &[KernelResult<'a>]) -> Vec<PrecisionGain<'a>> {
    let siblings = gather(results, |it| {
        let config = it.case.map(|case| &case.config);
        let host = it.point.host.as_deref();
        (it.kernel, it.backend, it.implementation, config, it.problem_key(), host)
    });
    siblings.iter().flat_map(|all| all.iter().filter_map(|it| gain(it, all))).collect()
}

fn gain<'a>(
    narrow: &KernelResult<'a>,
    siblings: &[&KernelResult<'a>],
) -> Option<PrecisionGain<'a>> {
    let own = narrow.precision?;
    let settings = |it: &KernelResult<'a>| it.case.map(|case| &case.settings);
    let wider = siblings.iter().filter(|wide| {
        wide.precision.is_some_and(|it| it.bits() > own.bits())
            && settings(wide) == settings(narrow)
    });
    let wide = wider.min_by_key(|wide| wide.precision.map(Dtype::bits))?;
    let (time, other) = (narrow.point.time?, wide.point.time?);
    Some(PrecisionGain {
        full_id: narrow.full_id,
        narrow: own,
        wide: wide.precision?,
        gain: other.over(&time).ok()?,
        proven: narrow.has_reference(),
    })
}

/// An implementation against `kernel.rs`, over all that `kernel.rs` was measured on.
#[derive(Debug, Clone, PartialEq)]
pub struct Rival<'a> {
    pub kernel: &'a str,
    pub implementation: &'a str,
    /// Its cases that are faster, the most so first.
    pub faster: Vec<(&'a str, Speedup)>,
    /// Cases of `kernel.rs` at which it is slower, was not measured or not compared with it, or has
    /// no reference that proves its output.
    pub not: Vec<&'a str>,
}

/// The implementations that are faster anywhere, those that gain most first.
pub fn rivals<'a>(results: &[KernelResult<'a>]) -> Vec<Rival<'a>> {
    let is_own = |result: &KernelResult<'_>| result.implementation == plan::KernelWork::BASELINE;
    let others = results.iter().filter(|result| !is_own(result));
    let rival = |cases: Vec<&KernelResult<'a>>| {
        let KernelResult { kernel, implementation, .. } = *cases[0];
        let own = results.iter().filter(|it| it.kernel == kernel && is_own(it));
        let own = own.filter(|it| it.measured().is_some());
        let holds = |own: &KernelResult<'_>| cases.iter().any(|case| stands_for(case, own));
        let not = own.filter(|own| !holds(own)).map(|own| own.full_id).collect();
        let gains = cases.iter().filter_map(|case| Some((case.full_id, *case.entry?.speedup()?)));
        let mut faster: Vec<_> =
            gains.filter(|(_, speedup)| speedup.verdict() == Verdict::Faster).collect();
        faster.order_by(|(_, a), (_, b)| b.ratio.total_cmp(&a.ratio));
        Rival { kernel, implementation, faster, not }
    };
    let groups = gather(others, |it| (it.kernel, it.implementation)).into_iter();
    let mut rivals: Vec<Rival<'a>> = groups.map(rival).collect();
    rivals.retain(|rival| !rival.faster.is_empty());
    rivals.order_by_key(|rival| (rival.kernel, rival.implementation));
    rivals.order_by(|a, b| b.faster[0].1.ratio.total_cmp(&a.faster[0].1.ratio));
    rivals
}

/// Whether a case could be run in the place of one of `kernel.rs`: of the same group and parameter,
/// so that it is compared with it; its output passed; and it is not slower.
fn stands_for(case: &KernelResult<'_>, own: &KernelResult<'_>) -> bool {
    let baseline = case.entry.and_then(|entry| entry.baseline).map(|row| row.full_id());
    baseline == Some(own.full_id)
        && case.measured().is_some()
        && case.has_reference()
        && case.entry.and_then(|it| it.speedup()).is_some_and(|it| it.verdict() != Verdict::Slower)
}
