//! Leaderboards: the fastest of cases that do the same.

use super::result::KernelResult;
use crate::model::{gather, machine};
use crate::order::Order as _;

/// The measured cases of one kernel at one problem size on one machine: they do the same thing, in
/// other precisions, on other backends, by other implementations. Unlike problems are never ranked
/// against each other. The fastest comes first by the median of single calls, those without one last.
#[derive(Debug)]
pub struct Contest<'r, 'a>(pub Vec<&'r KernelResult<'a>>);

impl Contest<'_, '_> {
    /// Whether the first is surely the fastest: the interval of its step lies below all others'.
    pub fn is_decided(&self) -> bool {
        let interval = |result: &KernelResult<'_>| result.time()?.interval;
        let Some(first) = self.0.first().and_then(|first| interval(first)) else { return false };
        let mut others = self.0.iter().skip(1);
        others.all(|other| interval(other).is_some_and(|other| first.high < other.low))
    }
}

/// All contests, in the order in which kernels and problems first appear. A CUDA case is on the
/// machine that has the GPU.
pub fn contests<'r, 'a>(results: &'r [KernelResult<'a>]) -> Vec<Contest<'r, 'a>> {
    let p50 = |result: &KernelResult<'_>| result.latency().map_or(f64::INFINITY, |it| it.p50_ns);
    let measured = results.iter().filter(|result| result.measured().is_some());
    let of_problem = gather(measured, |it| (it.kernel, it.problem_key(), it.record().map(machine)));
    let ranked = of_problem.into_iter().map(|mut cases| {
        cases.order_by(|a, b| p50(a).total_cmp(&p50(b)));
        Contest(cases)
    });
    ranked.collect()
}
