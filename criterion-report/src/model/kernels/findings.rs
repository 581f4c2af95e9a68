//! What stands out.

use std::collections::BTreeSet;

use super::result::KernelResult;

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
        failed: results.iter().filter(|result| result.is_failure()).collect(),
    }
}
