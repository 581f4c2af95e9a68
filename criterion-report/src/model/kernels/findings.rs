//! What stands out.

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

/// The case with the most of a value; none where all have the same.
pub fn most<'r, 'a>(
    results: &'r [KernelResult<'a>],
    of: impl Fn(&KernelResult<'a>) -> Option<f64>,
) -> Option<Extreme<'r, 'a>> {
    let with: Vec<(f64, &'r KernelResult<'a>)> =
        results.iter().filter_map(|result| Some((of(result)?, result))).collect();
    let largest = with.iter().map(|(value, _)| *value).max_by(f64::total_cmp)?;
    let mut equals = with.iter().filter(|(value, _)| *value == largest);
    let (_, result) = equals.next()?;
    let others = equals.count();
    // Among equals there is no largest.
    let is_extreme = with.len() == 1 || others + 1 < with.len();
    is_extreme.then_some(Extreme { result, others })
}

/// Cases whose first call after the warm-up took far longer than the median, and how many times as
/// long; the furthest first.
pub fn first_calls<'r, 'a>(results: &'r [KernelResult<'a>]) -> Vec<(&'r KernelResult<'a>, f64)> {
    far(results, first_call)
}

/// The same of the 99th percentile or, where the calls are too few, the slowest; those of which it is
/// the first call are not among them.
pub fn slow_calls<'r, 'a>(results: &'r [KernelResult<'a>]) -> Vec<(&'r KernelResult<'a>, f64)> {
    far(results, slow_call)
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
