//! What stands out.

use std::collections::BTreeSet;

use super::result::KernelResult;

/// Times the median from which on a call is far above it.
const FAR: f64 = 5.0;

/// The largest of a value.
#[derive(Debug, Clone, Copy)]
pub struct Extreme<'r, 'a> {
    /// The first case that has it.
    pub result: &'r KernelResult<'a>,
    /// How many others have the same.
    pub others: usize,
}

/// The extremes of the measured cases, each where there is one.
#[derive(Debug)]
pub struct Findings<'r, 'a> {
    /// The candidate that gains most over the baseline of its group, the whole interval above 1.
    pub speedup: Option<Extreme<'r, 'a>>,
    /// Most floating-point operations per second.
    pub flops: Option<Extreme<'r, 'a>>,
    /// Most bytes per second.
    pub bytes: Option<Extreme<'r, 'a>>,
    /// Highest peak of memory.
    pub memory: Option<Extreme<'r, 'a>>,
    /// Most energy of a step.
    pub energy: Option<Extreme<'r, 'a>>,
    /// Devices that cases really ran on.
    pub backends: BTreeSet<&'a str>,
    /// Cases whose first call after the warm-up took far longer than the median, and how many times
    /// as long; the furthest first.
    pub first_calls: Vec<(&'r KernelResult<'a>, f64)>,
    /// The same of the 99th percentile or, where the calls are too few, the slowest; those of which
    /// it is the first call are not among them.
    pub slow_calls: Vec<(&'r KernelResult<'a>, f64)>,
    /// Cases that failed.
    pub failed: Vec<&'r KernelResult<'a>>,
}

/// The extremes of these cases.
pub fn findings<'r, 'a>(results: &'r [KernelResult<'a>]) -> Findings<'r, 'a> {
    let most = |of: &dyn Fn(&KernelResult<'a>) -> Option<f64>| {
        let with: Vec<(f64, &'r KernelResult<'a>)> =
            results.iter().filter_map(|result| Some((of(result)?, result))).collect();
        let largest = with.iter().map(|(value, _)| *value).max_by(f64::total_cmp)?;
        let mut equals = with.iter().filter(|(value, _)| *value == largest);
        let (_, result) = equals.next()?;
        let others = equals.count();
        // Among equals there is no largest.
        let is_extreme = with.len() == 1 || others + 1 < with.len();
        is_extreme.then_some(Extreme { result, others })
    };
    let faster = |result: &KernelResult<'a>| {
        result.speedup().filter(|speedup| speedup.interval.low > 1.0).map(|speedup| speedup.ratio)
    };
    let joules =
        |result: &KernelResult<'a>| Some(result.measured()?.measures.energy.as_ref()?.joules);
    let measured = results.iter().filter(|result| result.measured().is_some());
    Findings {
        speedup: most(&faster),
        flops: most(&|result| result.entry?.row.gflop_per_s()),
        bytes: most(&|result| result.entry?.row.gb_per_s()),
        memory: most(&|result| result.peak_bytes().map(|bytes| bytes as f64)),
        energy: most(&joules),
        backends: measured.map(|result| result.backend).collect(),
        first_calls: far(results, first_call),
        slow_calls: far(results, slow_call),
        failed: results.iter().filter(|result| result.is_failure()).collect(),
    }
}

/// The cases of which a call is far above the median, the furthest first.
fn far<'r, 'a>(
    results: &'r [KernelResult<'a>],
    factor: impl Fn(&KernelResult<'a>) -> Option<f64>,
) -> Vec<(&'r KernelResult<'a>, f64)> {
    let with = results.iter().filter_map(|result| Some((result, factor(result)?)));
    let mut far: Vec<_> = with.filter(|(_, factor)| *factor >= FAR).collect();
    far.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    far
}

/// The first call over the median.
fn first_call(result: &KernelResult<'_>) -> Option<f64> {
    let calls = &result.measured()?.measures.calls_ns;
    Some(*calls.first()? as f64 / result.latency()?.p50_ns)
}

/// The 99th percentile, or the slowest call where there is none and it is not the first.
fn slow_call(result: &KernelResult<'_>) -> Option<f64> {
    let latency = result.latency()?;
    let first = result.measured()?.measures.calls_ns.first().map(|&ns| ns as f64);
    let slowest = Some(latency.max_ns).filter(|max| first != Some(*max));
    Some(latency.p99_ns.or(slowest)? / latency.p50_ns)
}
